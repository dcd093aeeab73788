"""The form of the files of a data set, as an entry of the catalogue or the section of a user's own data declares it."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator
from pydantic_core import PydanticCustomError

from gradrank.data.grades import edges_fault
from gradrank.data.tables.roles import Columns


def _as_text(value: Any) -> Any:
    """Return the number of a column as text. Any other value is returned as it is."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _checked(edges: tuple[float, ...]) -> tuple[float, ...]:
    """Return the edges. Raises an error if they do not divide the numbers into grades."""
    if fault := edges_fault(edges):
        raise PydanticCustomError("edges", "{fault}", {"fault": fault})
    return edges


ColumnName = Annotated[str, BeforeValidator(_as_text)]


class FileForm(BaseModel):
    """The declared columns and grades of the files.

    Without a header, the name of a column is its number, counted from 1.
    """

    # Names of columns, for tables whose columns data/tables/roles.py does not recognise.
    query: ColumnName | None = None
    label: ColumnName | None = None
    docid: ColumnName | None = None
    ignore: tuple[ColumnName, ...] = ()  # columns to leave out
    keep: tuple[ColumnName, ...] = ()  # columns to use as features although their names suggest a role
    header: bool = True  # False: CSV and TSV files have no header
    group_rows: bool = False  # True: the rows of a query may be apart; they are grouped in file order
    features_from: Literal[0, 1] = 1  # 0: the features of text are numbered from 0, as LightGBM numbers them
    repeated: Literal["error", "last"] = "error"  # last: the last value counts if a row of text repeats a feature
    categorical: tuple[ColumnName, ...] = ()  # features whose values are names of categories, even if they are numbers
    grade_edges: Annotated[tuple[float, ...], AfterValidator(_checked)] = ()  # grade = number of edges <= label

    def columns(self) -> Columns:
        """Return the declaration for the functions that read files."""
        return Columns(**{name: getattr(self, name) for name in FileForm.model_fields})

    def form_options(self) -> dict[str, Any]:
        """Return a dict from the name of each option of `gradrank parse` to its value. Defaults are left out."""
        return self.model_dump(include=set(FileForm.model_fields), exclude_defaults=True)
