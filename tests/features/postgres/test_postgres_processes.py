"""Several processes on one database, killed processes, a killed server: nothing acknowledged is lost."""

import pytest

from tests.features.postgres.engine import PostgresEngine
from tests.features.postgres.server import server
from tests.store.promises_of_processes import ProcessPromises

pytestmark = pytest.mark.usefixtures("postgres")


@pytest.mark.thorough
class TestPostgresProcesses(ProcessPromises):
    engine = PostgresEngine()

    @pytest.fixture(autouse=True)
    @staticmethod
    def _server() -> None:
        """Start the server here, so that the processes of a test find it."""
        server()
