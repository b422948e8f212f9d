"""Modules of an engine without the engine: its own where they are asked for, and stand-ins for what they import."""

import importlib.abc
import importlib.machinery
import importlib.util
import os
import types


class Stand:
    """Stands for whatever there would be: a base class, a record of what it is made with, a setting that is off."""

    def __init__(self, *_, **members):
        self.__dict__.update(members)

    def __init_subclass__(cls, **_):
        pass

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Stand()

    def __call__(self, *_, **__):
        return Stand()

    def __bool__(self):
        return False

    def __ge__(self, _):
        return False

    @classmethod
    def __get_pydantic_core_schema__(cls, *_):
        from pydantic_core import core_schema

        return core_schema.any_schema()


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds all modules of these packages. Those of which `is_own` says so lie in the folder; the others have whatever is asked of them."""

    def __init__(self, packages, folder, is_own):
        self.packages, self.folder, self.is_own = packages, folder, is_own

    def find_spec(self, name, _path=None, _target=None):
        if name.split(".")[0] not in self.packages:
            return None
        if self.is_own(name):
            path = os.path.join(self.folder, *name.split("."))
            file = path + ".py" if os.path.exists(path + ".py") else os.path.join(path, "__init__.py")
            return importlib.util.spec_from_file_location(name, file)
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec):
        module = types.ModuleType(spec.name)

        def member(name):
            if name.startswith("__"):
                raise AttributeError(name)
            # A setting is an object, all else a class.
            return Stand() if name == "envs" else type(name, (Stand,), {})

        module.__getattr__ = member
        return module

    def exec_module(self, module):
        module.__path__ = []
