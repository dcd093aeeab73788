"""What a run prints (`logger: gradrank` in a profile). Snakemake finds the plugin by this package's name.

Every Snakemake of this environment imports this module, for whatever workflow: so gradrank, which pins the instruction
set, is imported only where this logger is asked for.
"""

import warnings
from logging import LogRecord

from snakemake_interface_logger_plugins.base import LogHandlerBase


class LogHandler(LogHandlerBase):
    """Hands every record to `gradrank.pipeline.run_log`."""

    def __post_init__(self) -> None:
        # As in workflow/rules/common.smk: this process computes nothing.
        warnings.filterwarnings("ignore", "numpy imported before gradrank", RuntimeWarning)
        from gradrank.pipeline.run_log import RunLog

        self.log = RunLog(self.common_settings)

    def emit(self, record: LogRecord) -> None:
        try:
            self.log.take(record)
        except BrokenPipeError:  # the reader, such as `head`, has seen enough
            pass
        except Exception:
            self.handleError(record)

    def close(self) -> None:
        self.log.close()
        super().close()

    writes_to_stream = True
    writes_to_file = has_filter = has_formatter = needs_rulegraph = False
