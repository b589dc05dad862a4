"""Inputs by URL (`https://`, `s3://` ...): copied once, then read like any file.

fsspec opens them, those of SCHEMES alone: others of its many can run what a file says. Bytes are
kept in a folder of the user's, by URL, the version that the store tells (ETag, time of change and
size) and their own digest; where no version is told, the copy is gone with the process.
What is read is a link to the copy under the name that the URL has, so that formats are recognised,
and files beside it (`NAME.cross`) are looked for beside the URL, too. Results of studies rest on
the bytes, not on where they came from.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from smfeval import words
from smfeval.errors import FormatError, SmfevalError, reason_of
from smfeval.io.atomic import replacing
from smfeval.io.progress import report
from smfeval.io.source import is_url, process_folder, refuse_size

if TYPE_CHECKING:
    from urllib.parse import SplitResult

FOLDER = "SMFEVAL_CACHE"  # environment: where copies are kept
VERSION_KEYS = (  # what stores tell of a file that changes with it
    *("ETag", "etag", "Content-MD5", "md5Hash", "contentHash", "generation", "VersionId"),
    *("Last-Modified", "LastModified", "last_modified", "mtime", "updated", "created"),
)
SCHEMES = {  # that are opened, and the package that each needs
    "http": "aiohttp",
    "https": "aiohttp",
    "file": "fsspec",
    "s3": "s3fs",
    "gs": "gcsfs",
    "az": "adlfs",
}
GONE, FORBIDDEN, PARTIAL = (404, 410), (401, 403), 206  # answers of HTTP
CONNECT_TIMEOUT_S, SILENCE_TIMEOUT_S = 20, 60


def shown(url: str) -> str:
    """The URL as results may show it: without a password, and without a query, which can be one."""
    parts = _split(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def file_name(url: str) -> str:
    """The last part of the path, which is no path itself: `a%2F..%2Fb` is called b."""
    from urllib.parse import unquote  # noqa: PLC0415  only for URLs

    parts = _split(url)
    name = Path(unquote(parts.path)).name
    return Path(parts.netloc).name if name in ("", "..") else name


def _split(url: str) -> "SplitResult":
    from urllib.parse import urlsplit  # noqa: PLC0415  only for URLs

    try:
        return urlsplit(url)
    except ValueError as error:
        raise FormatError(f"{url!r}: no URL ({reason_of(error)})") from error


def local_copy(url: str, *, beside: Callable[[Path], Iterable[Path]] = lambda copy: ()) -> Path:
    """A copy of what the URL names, under the same name; fetched once by a process.

    `beside` tells which files are to be beside it where there are such beside the URL. Raises a
    sentence where it cannot be had, or holds more than the limit of reading.
    """
    if url not in _COPIES:
        folder = process_folder() / _digest(url)[:16]  # its own: names alone may be the same
        folder.mkdir(exist_ok=True)
        for old in folder.iterdir():  # of an earlier version
            old.unlink()
        copy = _fetch(url, folder)
        for target in beside(copy):
            parts = _split(url)
            parent = parts._replace(query="", fragment="").geturl().rpartition("/")[0]
            other = f"{parent}/{target.name}{f'?{parts.query}' if parts.query else ''}"
            if url_exists(other, forbidden=False):
                _fetch(other, folder)
        _COPIES[url] = copy
    return _COPIES[url]


_COPIES: dict[str, Path] = {}


def local_path(source: str | Path) -> Path:
    """The path of a file, or that of the copy of a URL."""
    return local_copy(source) if isinstance(source, str) and is_url(source) else Path(source)


def forget_copies() -> None:
    """Look at every URL anew: for a process that outlives a run of a study."""
    _COPIES.clear()


def url_exists(url: str, *, forbidden: bool | None = None) -> bool:
    """Whether there is a file; `forbidden`: the answer where one may not look, None: raise.

    Many stores forbid to ask for what is not there.
    """
    with _translated(url):
        system, place = _system(url)
        try:
            return bool(system.info(place).get("type") != "directory")
        except OSError as error:
            if _status(error) in GONE:
                return False
            if forbidden is not None and _status(error) in FORBIDDEN:
                return forbidden
            raise


def _status(error: BaseException) -> int | None:
    """What a server answers: 404 where there is no file, 403 where one may not look; None: else."""
    cause = error.__cause__ or error
    if isinstance(cause, PermissionError):
        return 403
    return getattr(cause, "status", 404 if isinstance(cause, FileNotFoundError) else None)


def find_urls(pattern: str) -> list[str]:
    """URLs of files that a pattern with stars matches."""
    with _translated(pattern):
        system, place = _system(pattern)
        return [str(system.unstrip_protocol(each)) for each in system.glob(place)]


def _fetch(url: str, folder: Path) -> Path:
    """Put what the URL names into a folder, by way of the kept copies."""
    target = folder / file_name(url)
    with _translated(url):
        system, place = _system(url)
        told = system.info(place)
        if told.get("type") == "directory":
            raise FormatError(f"{shown(url)}: this is a folder; a URL names one file")
        if told.get("type") == "other":
            raise FormatError(f"{shown(url)}: this is a pipe or a device; a file is needed")
        if told.get("size") is not None:
            refuse_size(shown(url), int(told["size"]))
        prefix = _kept_prefix(url, told)
        if prefix is None:
            _download(system, place, url, target, told)
            return target
        kept = _kept_copy(prefix)
        if kept is None:
            own = Path(f"{prefix}.{os.getpid()}")  # several processes may fetch it
            _download(system, place, url, own, told)
            kept = own.replace(Path(f"{prefix}-{_file_digest(own)}"))
    try:
        target.symlink_to(kept)
    except OSError:  # not every system lets everyone make links
        import shutil  # noqa: PLC0415  brings packers along

        shutil.copyfile(kept, target)
    return target


def _download(system: Any, place: str, url: str, target: Path, told: dict[str, Any]) -> None:
    """Copy; the file appears whole or not at all, and what grows beyond the limit is refused."""
    from fsspec.callbacks import Callback  # noqa: PLC0415  an extra

    class Counter(Callback):  # type: ignore[misc]  # fsspec has no types
        def relative_update(self, inc: int = 1) -> None:
            super().relative_update(inc)
            refuse_size(shown(url), self.value)
            report(self.value, self.size or self.value)

    with replacing(target) as temporary, _translated(url):  # a lost line is no full disk
        system.get_file(place, str(temporary), callback=Counter())
        size = temporary.stat().st_size
        refuse_size(shown(url), size)
        if told.get("size") not in (None, size):
            raise FormatError(
                f"{shown(url)}: {size:,} bytes came of the {told['size']:,} that there are"
            )


def _kept_prefix(url: str, told: dict[str, Any]) -> Path | None:
    """What the copy of this version is called, before the digest of its bytes.

    None where versions cannot be told apart, or the folder of copies cannot be made.
    """
    version = [f"{key}={told[key]}" for key in VERSION_KEYS if told.get(key)]
    cache_home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = Path(os.environ.get(FOLDER) or cache_home / "smfeval") / "remote"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    if not version:
        return None
    return folder / _digest("\n".join([url, str(told.get("size")), *version]))


def _kept_copy(prefix: Path) -> Path | None:
    """The copy, if its bytes still are those that were fetched; others are removed."""
    for kept in prefix.parent.glob(f"{prefix.name}-*"):
        if kept.name == f"{prefix.name}-{_file_digest(kept)}":
            return kept
        kept.unlink(missing_ok=True)
    return None


def _file_digest(path: Path) -> str:
    import hashlib  # noqa: PLC0415  only for URLs

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _digest(text: str) -> str:
    import hashlib  # noqa: PLC0415  only for URLs

    return hashlib.sha256(text.encode()).hexdigest()


def _system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the place in it."""
    scheme, outside = _split(url).scheme.lower(), re.sub(r"\[[^]]*\]", "", url)  # [::1] is a host
    if scheme not in SCHEMES or "::" in outside:
        known = words.join(f"{each}://" for each in SCHEMES)
        raise FormatError(f"{shown(url)}: not opened; URLs are {known}, without '::'")
    try:
        import fsspec  # noqa: PLC0415  an extra
    except ImportError as error:
        raise FormatError(
            f'{shown(url)}: URLs need the extra remote: pip install ".[remote]" in the checkout'
        ) from error
    try:
        if scheme not in ("http", "https"):
            return fsspec.core.url_to_fs(url)
        from aiohttp import ClientTimeout  # noqa: PLC0415  an extra

        # No limit on the time of a whole download, but on silence.
        limits = {"sock_connect": CONNECT_TIMEOUT_S, "sock_read": SILENCE_TIMEOUT_S}
        client = {"timeout": ClientTimeout(total=None, **limits), "raise_for_status": _refuse_part}
        return fsspec.filesystem(scheme, client_kwargs=client), url
    except ImportError as error:
        package = SCHEMES[scheme]
        raise FormatError(f"{shown(url)}: {scheme}:// needs {package}: pip install it") from error


async def _refuse_part(response: Any) -> None:
    """Raise on an answer that is not all that was asked for."""
    if response.status == PARTIAL:
        raise OSError(f"the server sent a part of the file, status {PARTIAL}")


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """One sentence for whatever stores and networks raise, which can be nearly anything."""
    try:
        yield
    except SmfevalError:
        raise
    except Exception as error:
        if _status(error) in GONE:
            raise FormatError(f"{shown(url)}: there is no such file") from error
        cause = error.__cause__ or error
        if isinstance(error, TimeoutError) or isinstance(cause, TimeoutError):
            cause = TimeoutError(f"no answer within {SILENCE_TIMEOUT_S} s")
        told = words.visible(reason_of(cause).replace(url, shown(url)))
        raise FormatError(f"{shown(url)}: cannot be read ({told})") from error
