"""A model's config.json: which norms its model_type has, and what it says of their eps, widths and layers."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

from ..errors import FileError, NormscopeError
from ..norm import Norm, exact_eps, layer_norm, rms_norm
from .families import FAMILIES, KEYS, LATENT_KEYS, LATENT_QUERIES, QUERIES, Family
from .found import Found

LARGEST = 4 * 2**20  # bytes of a config.json
MOST_LAYERS = 10_000
WIDTHS = ("hidden_size", "n_embd", "d_model", "dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
ENCODER, DECODER = ("encoder_layers", *LAYERS), ("decoder_layers", "num_decoder_layers", *LAYERS)
HEADS = ("num_attention_heads", "n_head", "n_heads")
EPS_FIELDS = ("layer_norm_eps", "layer_norm_epsilon", "rms_norm_eps", "norm_eps", "norm_epsilon", "layernorm_epsilon")
PARTS = {  # a word in the path of a tensor: the configuration of that part of a model of text and images
    "vision": "vision_config", "visual": "vision_config", "text": "text_config", "language": "text_config",
    "audio": "audio_config",
}  # fmt: skip
PAIRS = ("clip", "siglip")  # of a text and an image, neither inside the other
PREFIXES = {"vision_config": "vision_model.", "text_config": "text_model."}


@dataclass(frozen=True)
class Told:
    """What a configuration says of a norm.

    eps    with the words that say where it stands; None where nothing says it
    place  in the block; empty where it is not known
    """

    norm: Norm
    place: str
    cast: str
    evidence: tuple[str, ...]
    unknown: tuple[str, ...]


class Config:
    """The fields of a config.json, and the family of its model_type where that is known."""

    def __init__(self, fields: Mapping[str, Any], model_type: str = "", before: str = "") -> None:
        self.fields = fields
        self.model_type = str(fields.get("model_type", model_type))
        self.family = FAMILIES.get(self.model_type)
        self._before = before  # every place: "image, " for the part that sees

    @classmethod
    def read(cls, path: Path) -> "Config":
        """The configuration in a file. Raises FileError for one that is no JSON object or too large."""
        try:
            if path.stat().st_size > LARGEST:
                raise FileError(f"{path} has {path.stat().st_size:,} bytes; a config.json has at most {LARGEST:,}.")
            fields = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise FileError(f"{path} does not exist.") from None
        except (ValueError, RecursionError):
            raise FileError(f"{path} is no JSON.") from None
        if not isinstance(fields, dict):
            raise FileError(f"{path} is no JSON object.")
        return cls(fields)

    def part(self, path: str) -> "Config":
        """The configuration of the part in which a tensor stands: a model of text and images has one for each."""
        parts = self._parts()
        for word in re.split(r"[._]", path):
            if PARTS.get(word) in parts:
                return parts[PARTS[word]]
        return parts.get("text_config", self) if not self._has_width else self

    def _parts(self) -> dict[str, "Config"]:
        made = {}
        for name, word in (("vision_config", "image"), ("text_config", "text"), ("audio_config", "sound")):
            inner = self.fields.get(name)
            if isinstance(inner, dict):
                kind = name.removesuffix("_config")
                before = "" if kind == "text" and self.model_type not in PAIRS else f"{word}, "
                made[name] = Config(inner, f"{self.model_type}_{kind}_model", before)
        return made

    @property
    def _has_width(self) -> bool:
        return any(name in self.fields for name in WIDTHS)

    def number(self, names: tuple[str, ...]) -> int | None:
        """The first of these fields that is a whole number from 1."""
        for name in names:
            value = self.fields.get(name)
            if _is_count(value):
                return value
        return None

    def doubts(self) -> Iterator[str]:
        """The fields that should be a count or an eps and are none, in words."""
        for part in self._parts().values():
            yield from part.doubts()
        layers = (self.family.layers,) if self.family is not None else ()
        for name in dict.fromkeys((*WIDTHS, *layers, *ENCODER, *DECODER, *HEADS)):
            value = self.fields.get(name)
            if value is not None and not _is_count(value):
                yield f"config.json: {name} is {_cut(value)}, which is no count."
            elif value is not None and name not in (*WIDTHS, *HEADS) and value > MOST_LAYERS:
                yield f"config.json: {name} is {_cut(value)}; at most {MOST_LAYERS:,} layers are counted."
        for name in dict.fromkeys((self.family.eps,) if self.family is not None else EPS_FIELDS):
            if name in self.fields and _eps_of(self.fields[name]) is None:
                yield f"config.json: {name} is {_cut(self.fields[name])}, which is no eps."

    def told(self, site: str) -> Told | None:
        """What is said of the norm at a site of the family; None where the model_type is not known."""
        family = self.family
        if family is None:
            return None
        eps, why = self._eps(family, site)
        made = layer_norm if family.kind == "LayerNorm" else rms_norm
        norm: Norm = replace(made(), eps=eps, offset=family.offset)
        if family.kind == "LayerNorm" and not self._bias(family):
            norm = replace(norm, shift=False)
        said = f"model_type {self.model_type}: {family.kind}" + (", weights are gamma - 1" if family.offset else "")
        return Told(
            norm, self._before + family.sites[site], family.cast, (said, why), () if eps is not None else ("eps",)
        )

    def _eps(self, family: Family, site: str) -> tuple[Any, str]:
        """The eps and where it is said; None for one that is no number."""
        if site in family.fixed:
            return exact_eps(family.fixed[site]), f"eps {family.fixed[site]} is fixed in the code, not in config.json"
        if not family.eps:
            return exact_eps(family.default), f"eps {family.default} is fixed in the code, not in config.json"
        if family.eps not in self.fields:
            return exact_eps(family.default), f"config.json has no {family.eps}: its default, {family.default}"
        value = self.fields[family.eps]
        eps = _eps_of(value)
        return eps, f"config.json: {family.eps} " + (f"{value}" if eps is not None else f"is {_cut(value)}, no eps")

    def _bias(self, family: Family) -> bool:
        return bool(self.fields.get(family.bias, False)) if isinstance(family.bias, str) else family.bias

    def guessed(self) -> tuple[Any, str, str]:
        """For a model_type that is not known: an eps that a field gives, that field's name, and words."""
        for name in EPS_FIELDS:
            eps = _eps_of(self.fields.get(name))
            if eps is not None:
                return eps, name, f"config.json: {name} {self.fields[name]}"
        return None, "", ""

    def site(self, path: str) -> str:
        """The site of the family at which a module stands; empty where it has none there."""
        if self.family is None:
            return ""
        return max((site for site in self.family.sites if _ends(path, site)), key=len, default="")

    def norms(self) -> Iterator[Found]:
        """Every norm that the model has by its configuration alone."""
        if not self._has_width:
            for name, part in self._parts().items():
                yield from (replace(each, where=PREFIXES.get(name, "") + each.where) for each in part.norms())
        family = self.family
        if family is None:
            return
        for site in family.sites:
            need = family.needs.get(site)
            if need is not None and not (need and self.fields.get(need)):
                continue
            for where in self._paths(family, site):
                yield self._found(site, where)

    def _found(self, site: str, where: str) -> Found:
        told = self.told(site)
        assert told is not None
        sizes = self._sizes(told.place.removeprefix(self._before))
        norm = replace(told.norm, pattern="... h [d]", affine="h d") if "h" in sizes else told.norm
        norm = replace(norm, sizes=sizes)
        unknown = (*told.unknown, *(["count"] if "*" in where else []))
        return Found(
            where, norm, sizes, offset=norm.offset, evidence=told.evidence, unknown=unknown, place=told.place,
            cast=told.cast,
        )  # fmt: skip

    def _paths(self, family: Family, site: str) -> list[str]:
        if "*" not in site:
            return [site]
        names = ENCODER if site.startswith("encoder.") else DECODER if site.startswith("decoder.") else LAYERS
        count = self.number((family.layers,) if family.layers else names)
        if count is None or count > MOST_LAYERS:
            return [site]
        return [site.replace("*", str(layer)) for layer in range(family.first.get(site, 0), count)]

    def _sizes(self, place: str) -> dict[str, int]:
        """The width of what a norm reads, as far as the fields say it."""
        width = self.number(WIDTHS)
        latent = {LATENT_QUERIES: "q_lora_rank", LATENT_KEYS: "kv_lora_rank"}.get(place)
        if latent is not None:
            width = self.number((latent,))
        elif place in (QUERIES, KEYS):
            width = self._head_width(place, width)
            heads = self._heads(place)
            if self.family is not None and self.family.width == "heads" and width and heads:
                return {"h": heads, "d": width}
        return {} if width is None else {"d": width}

    def _heads(self, place: str) -> int | None:
        """How many heads the queries or the keys have."""
        return (self.number(("num_key_value_heads",)) if place == KEYS else None) or self.number(HEADS)

    def _head_width(self, place: str, width: int | None) -> int | None:
        """Of queries or keys: that of one head, or of all in one."""
        heads = self.number(HEADS)
        head = self.number(("head_dim",)) or (width // heads if width and heads else None)
        if self.family is None or self.family.width != "full" or head is None:
            return head
        count = self._heads(place)
        return head * count if count else None


def _is_count(value: Any) -> TypeGuard[int]:
    return type(value) is int and value > 0


def _eps_of(value: Any) -> Any:
    """A field's value as an exact eps; None for what is none."""
    try:
        return exact_eps(value)
    except NormscopeError:
        return None


def _cut(value: Any) -> str:
    """A field's value for people, the beginning of a long one."""
    text = str(value)[:40]
    return repr(text) if isinstance(value, str) else text


def _ends(path: str, site: str) -> bool:
    """Whether a path ends in a site, whose * is any number."""
    wanted = site.split(".")
    end = path.split(".")[-len(wanted) :]
    return len(end) == len(wanted) and all(
        one == two or (two == "*" and one.isdigit()) for one, two in zip(end, wanted, strict=True)
    )
