"""Where faults can be planted in a C++ file, and the file with all of them behind switches.

A fault is a pair of texts that go before and after a piece of the source, which stays as it is:
`a < b` becomes `(MUTANT(7) ? (a <= b) : a < b)`. So faults nest, and one build has them all.
"""

import re
from dataclasses import dataclass

from clang import cindex
from clang.cindex import CursorKind as Kind
from clang.cindex import TypeKind

# What stands for an operator. Relational ones move by the boundary; equalities are negated.
RELATIONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "/", "/": "*", "%": "/"}

INTEGERS = {TypeKind.INT, TypeKind.UINT, TypeKind.LONG, TypeKind.ULONG, TypeKind.LONGLONG,
            TypeKind.ULONGLONG, TypeKind.SHORT, TypeKind.USHORT, TypeKind.UCHAR, TypeKind.SCHAR,
            TypeKind.CHAR_S}
NUMBERS = INTEGERS | {TypeKind.DOUBLE, TypeKind.FLOAT}

# Calls whose arguments are words for the user, or room that is set aside: what is exchanged there
# changes no program.
WORDS = {"format", "fail", "explain", "rewrite", "reserve", "UserError", "InternalError",
         "format_to", "join", "what"}


@dataclass
class Site:
    """A fault: what goes before and after source[start:end]. `id` is given by who collects them."""
    kind: str
    start: int
    end: int
    before: str  # with {id}
    after: str
    line: int
    column: int
    original: str
    mutated: str
    id: int = 0


class Finder:
    def __init__(self, path, source, arguments):
        self.path, self.source, self.sites = str(path), source, []
        index = cindex.Index.create()
        options = cindex.TranslationUnit.PARSE_DETAILED_PROCESSING_RECORD
        self.unit = index.parse(self.path, arguments, options=options)
        self.macros = set()
        for cursor in self.unit.cursor.get_children():
            if cursor.kind == Kind.MACRO_INSTANTIATION and self.is_here(cursor):
                self.macros.add(cursor.extent.start.offset)

    def find(self):
        for cursor in self.unit.cursor.get_children():
            if self.is_here(cursor):
                self.visit(cursor, None)
        return self.sites

    def is_here(self, cursor):
        file = cursor.extent.start.file
        return file is not None and file.name == self.path

    def text(self, start, end):
        return self.source[start:end].decode()

    def text_of(self, cursor):
        return self.text(cursor.extent.start.offset, cursor.extent.end.offset)

    def add(self, kind, start, end, before, after, mutated):
        """`before` and `mutated` repeat source text on one line, so that lines keep their numbers."""
        if "//" in before or "/*" in before or '"' in before:
            return
        if any(start <= macro < end for macro in self.macros):
            return
        ahead = self.source[:start]
        flat = lambda words: re.sub(r"\s+", " ", words)
        self.sites.append(Site(kind, start, end, flat(before), after, ahead.count(b"\n") + 1,
                               start - (ahead.rfind(b"\n") + 1) + 1, flat(self.text(start, end)),
                               flat(mutated)))

    def add_other(self, kind, cursor, mutated):
        """The fault is another expression in place of this one."""
        start, end = cursor.extent.start.offset, cursor.extent.end.offset
        self.add(kind, start, end, f"(MUTANT({{id}}) ? ({mutated}) : ", ")", mutated)

    # ---- The walk ----

    def visit(self, cursor, parent):
        kind = cursor.kind
        if kind in (Kind.STATIC_ASSERT, Kind.ENUM_DECL, Kind.TYPE_ALIAS_DECL, Kind.TYPEDEF_DECL):
            return
        if kind.is_declaration() and self.is_computed_at_compile_time(cursor):
            if kind == Kind.VAR_DECL:
                self.visit_limit(cursor)
            return
        children = list(cursor.get_children())
        if kind == Kind.BINARY_OPERATOR and len(children) == 2:
            self.visit_operator(cursor, *children)
        elif kind == Kind.CALL_EXPR:
            self.visit_call(cursor)
        elif kind == Kind.IF_STMT:
            children = self.visit_if(cursor, children)
        elif kind == Kind.CASE_STMT:
            children = children[1:]
        elif kind in (Kind.INTEGER_LITERAL, Kind.CXX_BOOL_LITERAL_EXPR, Kind.FLOATING_LITERAL):
            self.visit_literal(cursor, parent)
        for child in children:
            if self.is_here(child):
                self.visit(child, cursor)

    def is_computed_at_compile_time(self, cursor):
        words = re.split(r"[={(;]", self.text_of(cursor), maxsplit=1)[0].split()
        return "constexpr" in words or "consteval" in words

    def visit_limit(self, cursor):
        """A named constant, one larger. It becomes a variable that is set when the program starts:
        what is const the C++ compiler would still compute."""
        match = re.fullmatch(r"(?s)((?:static )?)constexpr (.*?)= (.*)", self.text_of(cursor))
        if not match or cursor.type.get_canonical().kind not in NUMBERS:
            return
        start, value = cursor.extent.start.offset, match[3]
        head = len(f"{match[1]}constexpr {match[2]}= ".encode())
        self.add("limit", start + head, cursor.extent.end.offset,
                 f"(MUTANT({{id}}) ? ({value}) + 1 : ", ")", f"{value} + 1")
        if self.sites and self.sites[-1].start == start + head:
            # What stands for constexpr: one variable for all who include it.
            parent = cursor.semantic_parent.kind
            in_class = parent in (Kind.CLASS_DECL, Kind.STRUCT_DECL)
            shared = in_class or (parent == Kind.NAMESPACE and self.path.endswith(".h"))
            mark = "inline" if shared else "static" if parent == Kind.NAMESPACE else ""
            self.sites[-1].before = f"\0{mark}\0{self.sites[-1].before}"

    def visit_operator(self, cursor, left, right):
        operator = self.text(left.extent.end.offset, right.extent.start.offset).strip()
        operand = left.type.get_canonical().kind
        one, two = self.text_of(left), self.text_of(right)
        if operator in RELATIONS:
            self.add_other("relation", cursor, f"{one} {RELATIONS[operator]} {two}")
        elif operator in ARITHMETIC and operand in NUMBERS:
            if operator != "%" or operand in INTEGERS:
                self.add_other("arithmetic", cursor, f"{one} {ARITHMETIC[operator]} {two}")
        elif operator in ("&&", "||"):
            # Each side in turn says nothing.
            neutral = "MUTANT({id}) ||" if operator == "&&" else "!MUTANT({id}) &&"
            for side, other in ((left, two), (right, one)):
                start, end = side.extent.start.offset, side.extent.end.offset
                self.add("conjunct", start, end, f"({neutral} (", "))", f"only {other}")

    def visit_call(self, cursor):
        arguments = list(cursor.get_arguments())
        name = cursor.spelling
        if name.startswith("operator") and len(arguments) == 2:
            if all(argument is not None for argument in arguments):
                self.visit_operator(cursor, *arguments)
            return
        text = self.text_of(cursor)
        if name in WORDS or not text.endswith(")") or len(arguments) < 2:
            return
        for first, second in zip(arguments, arguments[1:]):
            one, two = self.text_of(first), self.text_of(second)
            alike = (first.type.get_canonical().get_pointee().spelling or
                     first.type.get_canonical().spelling).replace("const ", "")
            other = (second.type.get_canonical().get_pointee().spelling or
                     second.type.get_canonical().spelling).replace("const ", "")
            if alike != other or one == two or not one or not two or "[&" in text or "[=" in text:
                continue
            begin, base = first.extent.start.offset, cursor.extent.start.offset
            raw = self.source[base:cursor.extent.end.offset]
            a, b = begin - base, first.extent.end.offset - base
            c, d = second.extent.start.offset - base, second.extent.end.offset - base
            if not 0 < a < b <= c < d:
                continue
            swapped = raw[:a] + two.encode() + raw[b:c] + one.encode() + raw[d:]
            self.add_other("arguments", cursor, swapped.decode())

    def visit_if(self, cursor, children):
        """Returns what is to be walked of it."""
        head = self.text_of(cursor)
        if head.startswith("if constexpr"):
            return children[1:]
        condition = next((child for child in children if child.kind.is_expression()), None)
        # One that declares a variable is not an expression.
        if condition is None or any(child.kind == Kind.VAR_DECL or child.kind == Kind.DECL_STMT
                                    for child in children[:children.index(condition) + 1]):
            return children
        start, end = condition.extent.start.offset, condition.extent.end.offset
        words = self.text_of(condition)
        self.add("guard", start, end, "(!MUTANT({id}) && (", "))", "false")
        if not self.is_equality(condition):  # its relation is negated already
            self.add("negation", start, end, "(MUTANT({id}) != static_cast<bool>(", "))",
                     f"!({words})")
        return children

    def is_equality(self, cursor):
        sides = (list(cursor.get_children()) if cursor.kind == Kind.BINARY_OPERATOR else
                 list(cursor.get_arguments()) if cursor.kind == Kind.CALL_EXPR else [])
        if len(sides) != 2 or any(side is None for side in sides):
            return False
        between = self.text(sides[0].extent.end.offset, sides[1].extent.start.offset)
        return between.strip() in ("==", "!=")

    def visit_literal(self, cursor, parent):
        if parent is None or not (parent.kind.is_expression() or parent.kind == Kind.RETURN_STMT or
                                  parent.kind == Kind.VAR_DECL):
            return
        value = self.text_of(cursor)
        if parent.kind == Kind.VAR_DECL:
            ahead = self.text(parent.extent.start.offset, cursor.extent.start.offset)
            if not re.search(r"[=({]\s*$", ahead):
                return
        if value in ("true", "false"):
            self.add_other("constant", cursor, "false" if value == "true" else "true")
        elif re.fullmatch(r"[0-9][0-9'.eExXa-fA-F+-]*", value):
            self.add_other("constant", cursor, f"{value} + 1")


def find_sites(path, arguments):
    return Finder(path, path.read_bytes(), arguments).find()


def plant(source, sites, header):
    """The source with these faults. At one place, what is wider goes outside."""
    edits = []
    for order, site in enumerate(sites):
        width = site.end - site.start
        before = site.before
        if site.kind == "planted":  # in place of the source, on as many lines
            text = before.replace("{id}", str(site.id)).encode()
            lines = source[site.start:site.end].count(b"\n") - text.count(b"\n")
            edits.append((site.start, 1, -width, order, text + b"\n" * lines, width))
            continue
        if before.startswith("\0"):
            _, mark, before = before.split("\0")
            word = source.rfind(b"constexpr", 0, site.start)
            edits.append((word, 1, 0, order, mark.encode(), len("constexpr")))
        before = before.replace("{id}", str(site.id)).encode()
        edits.append((site.start, 1, -width, order, before, 0))
        edits.append((site.end, 0, width, -order, site.after.encode(), 0))
    edits.sort(key=lambda edit: edit[:4])
    pieces, at = [f'#include "{header}"\n#line 1\n'.encode()], 0
    for place, _, _, _, text, length in edits:
        pieces += [source[at:place], text]
        at = place + length
    pieces.append(source[at:])
    return b"".join(pieces)
