"""Why a record was found, or was not."""
