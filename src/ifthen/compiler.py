"""Kernels in half the time: machine code is made only for what Python calls.

Numba optimises every function and turns it into machine code, also where only another kernel calls it, and
then does both again as a part of that kernel. Here a function that a kernel calls is only translated.
Optimising and machine code are left to the kernel that Python calls, where both end up anyway. What is run is
the same.

There is no public way to ask Numba for this. This file uses its insides, which have no types (version 0.68).
"""

# mypy: disable-error-code="attr-defined, misc, no-untyped-call"
from __future__ import annotations

from typing import Any

from numba.core import codegen, compiler, registry, sigutils
from numba.core.compiler_lock import global_compiler_lock


class InnerCode(codegen.JITCodeLibrary):
    """The code of a kernel that another kernel calls: not optimised and not turned into machine code.

    Both are done to the kernel that Python calls, which takes this code in.
    """

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""

    def _finalize_final_module(self) -> None:
        """Get the code ready to be taken into other code."""
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class InnerEntry:
    """Stands where Numba wants a function that Python can call; a kernel that only kernels call has none."""


class Kernel(registry.CPUDispatcher):
    """A compiled function: as `InnerCode` for calls by other kernels, whole for calls by Python."""

    _called_by_kernel = False

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Return the types of a call by another kernel, and compile the function for it."""
        _, types = self._compiler.fold_argument_types(args, kws)
        if self._can_compile and tuple(types) not in self.overloads:
            self._compile_inner(tuple(types))
        self._called_by_kernel = True
        try:
            return super().get_call_template(args, kws)
        finally:
            self._called_by_kernel = False

    def _compile_inner(self, types: tuple[Any, ...]) -> None:
        """Compile the function for calls by other kernels."""
        flags: Any = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        self.targetctx.refresh()
        code = InnerCode(self.targetctx.codegen(), self.py_func.__qualname__)
        with self._compiling_counter:
            result = compiler.compile_extra(
                self.typingctx, self.targetctx, self.py_func, types, None, flags, self.locals, library=code
            )
        result = result._replace(entry_point=InnerEntry())
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [code])
        self.overloads[types] = result

    def compile(self, sig: Any) -> Any:
        """Compile the function for a call by Python, if a kernel does not ask for what is there."""
        types = tuple(sigutils.normalize_signature(sig)[0])
        with global_compiler_lock:
            existing = self.overloads.get(types)
            if existing is not None and isinstance(existing.entry_point, InnerEntry):
                if self._called_by_kernel:
                    return existing.entry_point
                del self.overloads[types]
            entry = super().compile(sig)
            if existing is not self.overloads[types]:
                result = self.overloads[types]
                for environment in result._find_referenced_environments():
                    result.codegen.set_env(environment.env_name, environment)
            return entry
