"""The reasons for lines of code: commits, the requests behind them, decisions and memories."""
