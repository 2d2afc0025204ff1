"""Rows in compiled loops: the same names as in Python, over arrays whose addresses are in a record.

A loop with much state takes one row that holds all tables (`core.rows`). In Python that is an object with lists; here
it is the record of `dtype_of`, and ``r.vms[v].state`` makes its view from address and length where it stands. A loop
that took many arrays would be longer in compiling, and in each call, as arrays are counted. Numbers of rows are checked
where numba checks those of arrays (`NUMBA_BOUNDSCHECK`).
"""

# mypy: disable-error-code="misc, no-untyped-call, attr-defined, override, untyped-decorator"
# numba's extension points have no types.
from __future__ import annotations

import hashlib
import operator
from collections.abc import Mapping
from functools import cache
from types import FunctionType
from typing import Any

import numba
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel.models import PointerModel, StructModel
from numba.core.imputils import lower_builtin, lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, infer_getattr, infer_global, signature
from numba.extending import intrinsic, register_model

from .compiled import RulesCompiler, RulesPartCompiler, compiled, compiled_part, described, is_ours, used_by
from .rows import COLUMNS, LENGTH, dtype_of, tables_of

_INT = ir.IntType(64)
_NUMBERS: dict[str, Any] = {"i": types.int64, "f": types.float64}
_config: Any = numba.config


class RowType(types.Type):
    """A row in a compiled loop: where its record is in memory."""

    def __init__(self, row: type) -> None:
        self.row, self.dtype = row, dtype_of(row)
        self.tables = {table.name: TableType(table.row, table.nested) for table in tables_of(row)}
        # Short, as the names of all functions that take it hold it; and another for other fields.
        stated = repr((self.dtype, sorted(map(str, self.tables.items())), _how_rows_are_reached()))
        super().__init__(name=f"{row.__name__}_{hashlib.sha256(stated.encode()).hexdigest()[:12]}")

    def field(self, name: str) -> Any:
        """Return the type of a field; None if there is none of that name."""
        if name in self.tables:
            return self.tables[name]
        return _NUMBERS[self.dtype[name].kind] if name in (self.dtype.names or ()) else None


class TableType(types.Type):
    """A table in a compiled loop: rows or numbers by their place, or lists of them."""

    def __init__(self, row: type, nested: bool) -> None:
        self.row, self.nested = row, nested
        self.size = dtype_of(row).itemsize
        self.element = _NUMBERS[dtype_of(row).kind] if row in (int, float) else RowType(row)
        super().__init__(name=f"{'Lists' if nested else 'List'}_{self.element}")

    @property
    def item(self) -> Any:
        """Type of the elements of a table."""
        return TableType(self.row, False) if self.nested else self.element


@register_model(TableType)
class _TableModel(StructModel):
    def __init__(self, manager: Any, of: Any) -> None:
        super().__init__(manager, of, [(name, types.int64) for name in ("address", "length", "columns")])


@register_model(RowType)
class _RowModel(PointerModel):
    def __init__(self, manager: Any, of: Any) -> None:
        self._pointee_model = manager.lookup(types.int8)
        self._pointee_be_type = ir.IntType(8)
        super(PointerModel, self).__init__(manager, of, self._pointee_be_type.as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):
    key = RowType

    def generic_resolve(self, of: Any, name: str) -> Any:
        return of.field(name)


def _member(builder: Any, pointer: Any, of: Any, name: str) -> Any:
    """Address of a field in memory."""
    place = builder.gep(pointer, [ir.Constant(_INT, of.dtype.fields[name][1])])
    kind = ir.DoubleType() if of.dtype[name].kind == "f" else _INT
    return builder.bitcast(place, kind.as_pointer())


@lower_getattr_generic(RowType)
def _get_field(context: Any, builder: Any, of: Any, value: Any, name: str) -> Any:
    if name not in of.tables:
        return builder.load(_member(builder, value, of, name))
    table = cgutils.create_struct_proxy(of.tables[name])(context, builder)
    table.address, table.length, table.columns = (
        builder.load(_member(builder, value, of, name + part)) for part in ("", LENGTH, COLUMNS)
    )
    return table._getvalue()


@lower_setattr_generic(RowType)
def _set_field(context: Any, builder: Any, sig: Any, given: Any, name: str) -> Any:
    of, kind = sig.args
    value = context.cast(builder, given[1], kind, of.field(name))
    builder.store(value, _member(builder, given[0], of, name))


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, given: Any, named: Any) -> Any:
        if isinstance(given[0], TableType) and isinstance(given[1], types.Integer):
            return signature(given[0].item, given[0], types.int64)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, given: Any, named: Any) -> Any:
        table = given[0]
        if isinstance(table, TableType) and isinstance(given[1], types.Integer) and not table.nested:
            return signature(types.none, table, types.int64, table.element)
        return None


@infer_global(len)
class _Length(AbstractTemplate):
    def generic(self, given: Any, named: Any) -> Any:
        return signature(types.int64, given[0]) if isinstance(given[0], TableType) else None


@lower_builtin(len, TableType)
def _length(context: Any, builder: Any, sig: Any, given: Any) -> Any:
    return cgutils.create_struct_proxy(sig.args[0])(context, builder, value=given[0]).length


def _place(context: Any, builder: Any, table: Any, k: Any, size: int) -> Any:
    """Address of what is at a place of a table, checked where arrays are."""
    if _config.BOUNDSCHECK:
        outside = builder.or_(
            builder.icmp_signed("<", k, ir.Constant(_INT, 0)), builder.icmp_signed(">=", k, table.length)
        )
        with builder.if_then(outside, likely=False):
            context.call_conv.return_user_exc(builder, IndexError, ("no such place in a table of rows",))
    return builder.add(table.address, builder.mul(k, ir.Constant(_INT, size)))


@lower_builtin(operator.getitem, TableType, types.int64)
def _get_item(context: Any, builder: Any, sig: Any, given: Any) -> Any:
    of = sig.args[0]
    table = cgutils.create_struct_proxy(of)(context, builder, value=given[0])
    if of.nested:
        part = cgutils.create_struct_proxy(of.item)(context, builder)
        offset = builder.mul(table.columns, ir.Constant(_INT, of.size))
        # For its check alone: how long the rows of this table are, only the record knows.
        _place(context, builder, table, given[1], 0)
        part.address, part.length = builder.add(table.address, builder.mul(given[1], offset)), table.columns
        part.columns = ir.Constant(_INT, 0)
        return part._getvalue()
    address = _place(context, builder, table, given[1], of.size)
    if isinstance(of.element, RowType):
        return builder.inttoptr(address, context.get_value_type(of.element))
    return builder.load(builder.inttoptr(address, context.get_value_type(of.element).as_pointer()))


@lower_builtin(operator.setitem, TableType, types.int64, types.Any)
def _set_item(context: Any, builder: Any, sig: Any, given: Any) -> Any:
    of = sig.args[0]
    table = cgutils.create_struct_proxy(of)(context, builder, value=given[0])
    address = _place(context, builder, table, given[1], of.size)
    builder.store(given[2], builder.inttoptr(address, context.get_value_type(of.element).as_pointer()))
    return context.get_dummy_value()


@cache
def _how_rows_are_reached() -> str:
    """Return a digest of the code here that compiled loops are made by: what was made by other code is another type."""
    made_by = (_member, _get_field, _set_field, _length, _place, _get_item, _set_item)
    kinds = (_TableModel.__init__, _RowModel.__init__, _Fields.generic_resolve, _GetItem.generic, _SetItem.generic)
    codes = [described(part.__code__) for part in (*made_by, *kinds, _Length.generic)]
    return hashlib.sha256(repr(codes).encode()).hexdigest()


def rows_from(row: type) -> Any:
    """Return a function for compiled loops which makes a row with tables out of its record."""
    rows = RowType(row)

    @intrinsic
    def rows_of(typing_context: Any, record: Any) -> Any:
        def generate(context: Any, builder: Any, sig: Any, given: Any) -> Any:
            return builder.bitcast(given[0], ir.IntType(8).as_pointer())

        return rows(record), generate

    return rows_of


# ------------------------------------------------------------------------- functions


def compiled_rules(root: Any, name: str, given: Mapping[Any, Any], made: dict[Any, Any]) -> Any:
    """Compile a function and all of ours that it calls, with others in place of some.

    Parameters
    ----------
    root : function
        What Python calls.
    name : str
        What it is called in the cache.
    given : mapping of function to function
        What is called in place of which function.
    made : dict
        Parts that are compiled already, and in which these are kept: what calls no other functions is the same part.
    """
    return compiled(_copy_of(root, _Parts(given, made).names_in(root), name), RulesCompiler)


class _Parts:
    """Compiled parts of one loop: each of its functions once, however many others call it."""

    def __init__(self, given: Mapping[Any, Any], made: dict[Any, Any]) -> None:
        self._given = given
        self._made = made
        self._of: dict[FunctionType, Any] = {}

    def names_in(self, function: FunctionType) -> dict[str, Any]:
        """Names in the code of a function, with the objects they stand for in compiled loops."""
        names = {}
        for name, value in used_by(function):
            called = self._given.get(value, value) if isinstance(value, FunctionType) else value
            ours = isinstance(called, FunctionType) and is_ours(called.__module__)
            names[name] = self._part(called) if ours else called
        return names

    def _part(self, function: FunctionType) -> Any:
        """Return the compiled part of a function, in which others are in place of some."""
        if function not in self._of:
            names = self.names_in(function)
            key = function, tuple(sorted((name, id(value)) for name, value in names.items()))
            if key not in self._made:
                # Machine code of parts of one name is taken for the same, also of loops that two processes compiled.
                uses = {name: described(value) for name, value in names.items()}
                stated = described(function.__code__), described(function.__defaults__), uses
                digest = hashlib.sha256(repr(stated).encode()).hexdigest()[:16]
                copy = _copy_of(function, names, f"{function.__qualname__}_{digest}")
                self._made[key] = compiled_part(copy, RulesPartCompiler)
            self._of[function] = self._made[key]
        return self._of[function]


def _copy_of(function: FunctionType, names: Mapping[str, Any], qualname: str) -> FunctionType:
    """Return a function like another one in which names stand for other things."""
    # With globals of its own: in its module, the names go on standing for what Python calls.
    copy = FunctionType(function.__code__, function.__globals__ | dict(names), function.__name__, function.__defaults__)
    copy.__module__, copy.__qualname__ = function.__module__, qualname
    return copy
