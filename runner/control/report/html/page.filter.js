"use strict";
// What the box above the table takes: words that are searched for in every cell, or a condition as --where of exprun
// takes it, of which the columns of the table are the names. It is tested on {cells, tags} of a run.
//
//   condition   = conjunction { "or" conjunction }        conjunction = negation { "and" negation }
//   negation    = "not" negation | "(" condition ")" | has(COLUMN) | tag(TEXT) | comparison
//   comparison  = COLUMN ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~") TEXT | COLUMN ["not"] "in" "[" TEXT { "," TEXT } "]"

class FilterError extends Error {}

const FILTER_TOKEN = /\s*(?:("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([=!<>~&|]+|[()[\],])|([\w\-./:+%@*?^#$\u{80}-\u{10ffff}]+)|(\S))/uy;
const SIGNS = ["=", "==", "!=", "<", "<=", ">", ">=", "~"];
const KEYWORDS = ["and", "or", "not", "in"];
const STATES = ["running", "finished", "diverged", "failed", "interrupted", "preempted", "killed", "crashed", "pruned", "unknown"];
const THOUSANDS = { k: 1e3, M: 1e6, B: 1e9, T: 1e12 };
const FOREIGN_SIGNS = {
  "&&": "'and'", "&": "'and'", "||": "'or'", "|": "'or'", "!": "'not'", "=>": ">=", "=<": "<=", "<>": "!=", "===": "=", "=~": "~",
};
const SERIES_FUNCTIONS = ["min", "max", "last", "at"];  // of --where
const NOT_FINITE = { nan: NaN, inf: Infinity, "-inf": -Infinity };

function tokensOf(text) {
  const tokens = [];
  FILTER_TOKEN.lastIndex = 0;
  for (let found; FILTER_TOKEN.lastIndex < text.trimEnd().length && (found = FILTER_TOKEN.exec(text));) {
    const [, quoted, sign, word, other] = found, end = FILTER_TOKEN.lastIndex;
    if (other) throw new FilterError(`unexpected ${other}: put a text that has such characters in quotes`);
    if (sign in FOREIGN_SIGNS) throw new FilterError(`there is no ${sign}: write ${FOREIGN_SIGNS[sign]}`);
    if (quoted) tokens.push({ kind: "quoted", text: quoted.slice(1, -1).replace(/\\(["'\\])/g, "$1"), end });
    else if (sign) tokens.push({ kind: "sign", text: sign, end });
    else tokens.push({ kind: KEYWORDS.includes(word.toLowerCase()) ? word.toLowerCase() : "word", text: word, end });
    tokens.at(-1).begin = end - (quoted ?? sign ?? word).length;
  }
  return tokens;
}

// "10M" is ten million; undefined for what is no number.
function numberOfText(text) {
  if (text in NOT_FINITE) return NOT_FINITE[text];
  const [, digits, unit] = /^(.*\d)([kMBT])$/.exec(text) ?? [null, text, null];
  return digits.trim() === "" || Number.isNaN(Number(digits)) ? undefined : Number(digits) * (unit ? THOUSANDS[unit] : 1);
}

const numberOfCell = ([value, text]) => value ?? NOT_FINITE[text];

// Arrays are the same however they are written.
function plainText(text) {
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    return text;
  }
}

function compares(sign, cell, text) {
  if (cell[1] === "") return false;  // without a value
  const [a, b] = [numberOfCell(cell), numberOfText(text)];
  if (sign === "=" || sign === "!=") {
    const equal = a !== undefined && b !== undefined ? Object.is(a, b) || a === b : plainText(cell[1]) === plainText(text);
    return equal === (sign === "=");
  }
  if (a === undefined || b === undefined) return false;
  return { "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b }[sign];
}

// '*' is any text, '?' any character. Goes back to the last '*' only, so that no pattern takes long.
function matches(text, pattern) {
  const [characters, wanted] = [[...text], [...pattern]];
  let at = 0, next = 0, star = -1, begin = 0;  // `begin`: where the text after the last '*' is sought
  while (at < characters.length) {
    if (wanted[next] === "*") {
      star = next++;
      begin = at;
    } else if (wanted[next] === "?" || wanted[next] === characters[at]) {
      ++next;
      ++at;
    } else if (star >= 0) {
      next = star + 1;
      at = ++begin;
    } else {
      return false;
    }
  }
  return wanted.slice(next).every(c => c === "*");
}

function refuseFunction(name) {
  throw new FilterError(`this page does not have ${name}, as --where has: ${SERIES_FUNCTIONS.join(", ")} are not here; name a column of the table, as in val/loss < 3`);
}

// By the key, the title or the name of a series; best_val_loss is best val/loss.
function columnNamed(name, columns) {
  const plain = text => text.replaceAll(/[ /]/g, "_");
  const key = plain(name);
  const by = [c => c.key === name, c => c.title === name, c => c.key === key || plain(c.title) === key, c => c.key === `${key}_last`, c => c.key.endsWith(`.${name}`)];
  for (const test of by) {
    const found = columns.findIndex(test);
    if (found >= 0) return found;
  }
  const suffix = name.split(":").at(-1);
  if (suffix !== name && SERIES_FUNCTIONS.includes(suffix)) refuseFunction(`:${suffix}`);
  throw new FilterError(`there is no column ${name}; there are ${columns.map(c => c.title).join(", ")}`);
}

// A test of {cells, tags} of a run. Throws FilterError for a condition that is none.
function conditionOf(text, columns) {
  const tokens = tokensOf(text);
  let at = 0;
  const is = (...texts) => at < tokens.length && tokens[at].kind !== "quoted" && texts.includes(tokens[at].text.toLowerCase());
  const take = (...texts) => is(...texts) ? tokens[at++].text : null;
  const found = () => at < tokens.length ? `found ${tokens[at].text}` : "the condition ends here";
  const need = sign => take(sign) ?? fail(`expected ${sign}, but ${found()}`);
  const fail = message => { throw new FilterError(message); };

  // Bare words with blanks between them are one.
  function words(what) {
    if (tokens[at]?.kind === "quoted") return tokens[at++].text;
    const first = at;
    while (tokens[at]?.kind === "word") ++at;
    return at > first ? text.slice(tokens[first].begin, tokens[at - 1].end) : fail(`expected ${what}, but ${found()}`);
  }
  function literal() {
    if (!is("[")) return words("a value");
    const begin = tokens[at++].begin;
    while (at < tokens.length && !is("]")) ++at;
    need("]");
    return text.slice(begin, tokens[at - 1].end);
  }
  function items() {
    const all = [];
    need("[");
    while (!is("]")) {
      all.push(literal());
      if (!take(",")) break;
    }
    need("]");
    return all;
  }
  function check(column, sign, value) {
    const shown = columns[column].title;
    if (sign === "~") return;
    if (columns[column].key === "state" && !STATES.includes(value)) fail(`there is no state ${value}; there are ${STATES.join(", ")}`);
    if (numberOfText(value) !== undefined) return;
    if (columns[column].right) fail(`${shown} is a number, but ${value} is not`);
    if (sign !== "=" && sign !== "!=") fail(`${sign} compares numbers, but ${value} is not a number`);
  }
  function comparison() {
    const column = columnNamed(words("the name of a column"), columns);
    const negated = Boolean(take("not"));
    if (negated || is("in")) {
      need("in");
      const all = items();
      all.forEach(item => check(column, "=", item));
      return ({ cells }) => all.some(item => compares("=", cells[column], item)) !== negated;
    }
    const sign = take(...SIGNS)?.replace("==", "=") ?? fail(`expected one of = != < <= > >= ~ in, but ${found()}`);
    const value = literal();
    if (is(...SIGNS, "in")) fail(`unexpected ${tokens[at].text} after a whole condition: write 'and' or 'or' between two conditions`);
    check(column, sign, value);
    if (sign === "~") return ({ cells }) => cells[column][1] !== "" && matches(cells[column][1], value);
    return ({ cells }) => compares(sign, cells[column], value);
  }
  const calls = name => is(name) && tokens[at + 1]?.kind === "sign" && tokens[at + 1].text === "(";
  function argument(read) {
    at += 2;
    const value = read();
    need(")");
    return value;
  }
  function negation() {
    if (take("not")) {
      const inner = negation();
      return run => !inner(run);
    }
    if (calls("has")) {
      const column = argument(() => columnNamed(words("the name of a column"), columns));
      return ({ cells }) => cells[column][1] !== "";
    }
    if (calls("tag")) {
      const tag = argument(() => words("a tag"));
      return ({ tags }) => tags.includes(tag);
    }
    const lacking = SERIES_FUNCTIONS.find(calls);
    if (lacking) refuseFunction(`${lacking}()`);
    if (!take("(")) return comparison();
    const inner = disjunction();
    need(")");
    return inner;
  }
  function joined(keyword, part, all) {
    const parts = [part()];
    while (take(keyword)) parts.push(part());
    return run => all ? parts.every(test => test(run)) : parts.some(test => test(run));
  }
  function disjunction() {
    return joined("or", () => joined("and", negation, true), false);
  }
  const whole = disjunction();
  if (at === tokens.length) return whole;
  if (is(")")) fail("this ) closes nothing: leave it out");
  return fail(`unexpected ${tokens[at].text}: write 'and' or 'or' before it`);
}

// A text with an operator is a condition; any other is words, all of which some cell has.
function filterOf(text, columns) {
  if (/[=<>~()[\]]/.test(text)) return conditionOf(text, columns);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return ({ cells }) => words.every(word => cells.some(cell => cell[1].toLowerCase().includes(word)));
}
