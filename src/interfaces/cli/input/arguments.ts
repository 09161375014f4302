import { Stop } from '../exit.ts'
import { type Field, positionals } from './fields.ts'
import { type Global, type Globals, globals } from '../globals.ts'
import { didYouMean, nearWords } from '../near.ts'
import { dayOf, timeOf } from './times.ts'

export interface Parsed {
  input: Record<string, unknown>
  globals: Globals
}

/** Prompts for a missing field; undefined where there is no terminal. */
export type Fill = (field: Field, globals: Globals) => Promise<string | undefined>

export type ReadText = (from: string) => Promise<string>

/** Parses the words into an input by the contract's types. The server validates the values. */
export async function parseArguments(
  words: readonly string[],
  fields: readonly Field[],
  readText: ReadText,
  fill?: Fill,
): Promise<Parsed> {
  const { placed: values, flags, globals } = sort(words, fields)
  const input: Record<string, unknown> =
    globals.input === undefined ? {} : fromJson(globals.input, await readText(globals.input))
  for (const [field, values] of flags) input[field.name] = await valueOf(field, values, `--${field.flag}`, readText)
  const open = positionals(fields).filter((field) => !(field.name in input))
  const last = open.at(-1)
  const args = last?.rest ? restJoined(values, open.length) : last?.several ? values.slice(0, open.length) : values
  if (args.length > open.length)
    throw new Stop(
      'usage',
      `Unexpected argument "${withoutSecret(args[open.length]!)}".`,
      'Put text with spaces in quotes. Optional values need a --name. Run with --help for the list.',
    )
  for (const [i, word] of args.entries()) {
    const field = open[i]!
    const words = field.several ? values.slice(i) : [word]
    input[field.name] = field.inPath ? word : await valueOf(field, words, `<${field.flag}>`, readText)
  }
  if (!globals.help) {
    for (const missing of fields.filter((field) => field.required && !(field.name in input))) {
      const typed = await fill?.(missing, globals)
      if (typed !== undefined) {
        // A secret typed at a hidden prompt is safe.
        input[missing.name] = missing.inPath
          ? typed
          : await valueOf({ ...missing, secret: false }, [typed], `<${missing.flag}>`, readText)
        continue
      }
      throw new Stop('usage', missing.inPath ? `Missing <${missing.flag}>.` : `Missing --${missing.flag}.`)
    }
  }
  return { input, globals }
}

const restJoined = (words: readonly string[], count: number): string[] =>
  words.length <= count ? [...words] : [...words.slice(0, count - 1), words.slice(count - 1).join(' ')]

interface Sorted {
  placed: string[]
  flags: Map<Field, (string | boolean)[]>
  globals: Globals
}

const shortOptions: Readonly<Record<string, string>> = { '-o': '--output', '-q': '--query', '-r': '--recursive' }

const shortOption = (word: string, fields: readonly Field[]): string => {
  const long = shortOptions[word] ?? word
  return long === '--recursive' && !fields.some(({ flag }) => flag === 'recursive') ? word : long
}

function sort(words: readonly string[], fields: readonly Field[]): Sorted {
  const positional: string[] = []
  const flags = new Map<Field, (string | boolean)[]>()
  const globalValues: Record<string, string | true> = {}
  const give = (field: Field, value: string | boolean) => flags.set(field, [...(flags.get(field) ?? []), value])
  for (let i = 0; i < words.length; i++) {
    const word = shortOption(words[i]!, fields)
    if (word === '--') {
      positional.push(...words.slice(i + 1))
      break
    }
    if (word === '-h') globalValues.help = true
    if (word === '-h') continue
    if (!word.startsWith('--')) {
      if (/^-[a-zA-Z]/.test(word))
        throw new Stop(
          'usage',
          `Unknown option ${word}.`,
          // `-title`, as in programs with single-dash options.
          (word.length > 2 ? nearestFlag(word.slice(1), fields) : undefined) ??
            'Put values that start with a dash after --.',
        )
      positional.push(word)
      continue
    }
    const equals = word.indexOf('=')
    const name = equals < 0 ? word.slice(2) : word.slice(2, equals)
    const value = (): string => {
      const text = equals < 0 ? words[++i] : word.slice(equals + 1)
      if (text === undefined) throw new Stop('usage', `--${name} needs a value.`)
      return text
    }
    const field = fields.find(({ flag }) => flag === name)
    const off = field ?? fields.find(({ flag, kind }) => kind === 'switch' && name === `no-${flag}`)
    const option = globals[name as Global]
    if (field && field.kind !== 'switch') give(field, value())
    else if (field) give(field, equals < 0 || switchValue(value(), name))
    else if (off) give(off, false)
    else if (option?.[0] === 'switch' && equals < 0) globalValues[name] = true
    else if (option?.[0] === 'value') globalValues[name] = value()
    else throw new Stop('usage', `Unknown option --${name}.`, nearestFlag(name, fields))
  }
  return { placed: positional, flags, globals: globalValues }
}

function switchValue(word: string, name: string): boolean {
  if (word === 'true' || word === 'false') return word === 'true'
  throw new Stop('usage', `Use --${name} or --no-${name}.`)
}

function nearestFlag(name: string, fields: readonly Field[]): string | undefined {
  const switches = name.startsWith('no-') ? fields.filter(({ kind }) => kind === 'switch') : []
  const off = switches.map(({ flag }) => `no-${flag}`)
  const candidates = [...fields.map(({ flag }) => flag), ...Object.keys(globals), ...off]
  return didYouMean(nearWords(name.replaceAll('_', '-'), candidates).map((flag) => `--${flag}`))
}

/** Reads `@file` and `-`, turns `@@x` into the text `@x`, and clears nullable fields on `null`. */
async function valueOf(
  field: Field,
  given: (string | boolean)[],
  called: string,
  readText: ReadText,
): Promise<unknown> {
  const last = given.at(-1)!
  if (typeof last === 'boolean') return last
  const words = given as string[]
  if (field.source) return sourcesOf(field, words, called)
  if (field.secret && last !== '-' && !/^@[^@]/.test(last))
    throw new Stop(
      'usage',
      `${called} would be visible in the process list.`,
      `Pass - to read it from stdin, or @file.`,
    )
  const texts = field.verbatim ? words : await Promise.all(words.map((word) => expand(word, field, called, readText)))
  if (field.kind === 'list') return field.several ? texts : texts.flatMap((text) => listItems(text, called))
  const text = texts.at(-1)!
  if (text === 'null' && field.nullable) return null
  switch (field.kind) {
    case 'text':
      return field.secret ? text.replace(/\r?\n$/, '') : text
    case 'time': {
      const time = timeOf(text.trim(), field.name, new Date())
      return time ?? no(called, text, 'a time, such as 7d, 2026-12-24, 2026-12-24T18:00 or 2026-12-24T17:00:00Z')
    }
    case 'day':
      return dayOf(text.trim(), new Date()) ?? no(called, text, 'a day, such as 2026-12-24, today or 7d')
    case 'number': {
      const number = Number(text)
      return text.trim() === '' || !Number.isFinite(number) ? no(called, text, 'a number') : number
    }
    case 'switch':
      return switchValue(text, field.flag)
    case 'json':
      return parseJson(text, called)
  }
}

async function sourcesOf({ kind }: Field, words: readonly string[], called: string): Promise<unknown> {
  const { sourceOf } = await import('./source.ts')
  const one = (word: string): unknown => (/^[[{]/.test(word) ? parseJson(word, called) : sourceOf(word, called))
  const sources = await Promise.all(words.map(one))
  return kind === 'list' ? sources.flat() : sources.at(-1)
}

function no(called: string, text: string, wanted: string): never {
  throw new Stop('usage', `${called} must be ${wanted}, not "${text}".`)
}

async function expand(word: string, { atWords = [] }: Field, called: string, readText: ReadText): Promise<string> {
  if (word === '-') return readText('-')
  if (word.startsWith('@@')) return word.slice(1)
  if (!word.startsWith('@') || word.length === 1 || atWords.includes(word.toLowerCase())) return word
  if (atWords.length === 0) return readText(word.slice(1))
  return readText(word.slice(1)).catch(() => {
    throw new Stop(
      'usage',
      `${called}: "${word}" isn't one of ${atWords.join(', ')} or a file path.`,
      didYouMean(nearWords(word.toLowerCase(), atWords)),
    )
  })
}

/** `[…]` is the whole list and `{…}` one item, both as JSON. */
function listItems(text: string, called: string): unknown[] {
  if (text.startsWith('[')) return parseJson(text, called) as unknown[]
  return [text.startsWith('{') ? parseJson(text, called) : text]
}

function parseJson(text: string, called: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new Stop('usage', `${called} must be valid JSON.`, `Put it in single quotes, or pass @file, or - for stdin.`)
  }
}

function fromJson(from: string, text: string): Record<string, unknown> {
  const value = parseJson(text, '--input')
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw new Stop('usage', `${from} must contain a JSON object.`)
  return value as Record<string, unknown>
}

/** Hides a key or token passed in the wrong place: output may end up in a log. */
const withoutSecret = (word: string): string => word.replace(/^(uk[a-z]?_).+/s, '$1…')
