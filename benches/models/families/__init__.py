"""The programs, a file per family."""
import importlib
import pkgutil


def load():
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f'{__name__}.{module.name}')
