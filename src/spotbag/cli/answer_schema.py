"""Schemas of answers, and what reads an answer back."""

from __future__ import annotations

import ast
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from ..core.statistics import Estimate
from .answers import ABSENT, BESIDE, Answer, Mean, answer_of


def schema_of(kind: str) -> dict[str, Any]:
    """Return the JSON Schema of a kind of answer."""
    return adapter_of(kind).json_schema(schema_generator=_AnswerSchema)


def adapter_of(kind: str) -> TypeAdapter[Answer]:
    """Return the adapter that reads answers of a kind."""
    answer = answer_of(kind)
    for name in {base.__module__ for base in answer.__mro__}:
        if name.startswith((f"{__package__}.", "spotbag_papers.")):
            _import_types(sys.modules[name])
    return TypeAdapter(answer)


def _import_types(module: ModuleType) -> None:
    """Import the names that a module uses in annotations alone: schemas need them, commands do not."""
    assert module.__file__ is not None, "a module of ours is a file"
    for statement in ast.parse(Path(module.__file__).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test) == "TYPE_CHECKING":
            exec(compile(ast.Module(statement.body, []), module.__file__, "exec"), vars(module))


class _AnswerSchema(GenerateJsonSchema):
    """Makes the schemas of answers: what is always printed is required."""

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        """Return the schema of a field, without what it is by default: that is nothing to a reader."""
        return self.generate_inner(schema["schema"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """Return the schema of a record."""
        record = schema["cls"]
        # An estimate is printed by the ends of its interval, not by its half width.
        if record is Estimate:
            return self.generate_inner(TypeAdapter(Mean).core_schema)
        made = super().dataclass_schema(schema)
        properties = made["properties"]
        # Whatever an answer always has is required, so that readers need not ask whether it is there.
        may_be_absent = {entry.name for entry in fields(record) if entry.default is ABSENT}
        for entry in fields(record):
            if BESIDE in entry.metadata:
                made["additionalProperties"] = properties.pop(entry.name).get("additionalProperties", True)
        if issubclass(record, Answer):
            properties = {"format": {"const": record.FORMAT, "title": "Format", "type": "string"}} | properties
        return made | {
            "properties": properties,
            "required": [name for name in properties if name not in may_be_absent],
        }
