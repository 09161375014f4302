import { credentialsFor, scopeOf } from '#core/access.ts'
import type { AnyEndpoint } from '#core/contract.ts'
import type { ListedEndpoint } from '#core/registry.ts'
import { refusalsOf } from '../refusals.ts'
import { globals } from './globals.ts'
import { expandCommand } from './aliases.ts'
import { asWord, exampleCommands, usageOf } from './help/examples.ts'
import { Stop } from './exit.ts'
import { type Field, fieldsOf, positionals } from './input/fields.ts'
import { placeholderOf } from './help/placeholders.ts'
import { fileOf } from './media/made.ts'
import { type Pair, columns, examples, sections } from './output/layout.ts'
import { didYouMean, nearWords } from './near.ts'
import { commandGroups, findCommand } from './resolve.ts'
import type { Special } from './commands/special.ts'
import { specialFor, specials, specialsUnder } from './commands/specials.ts'
import { isOnItsWay } from './server/arrive.ts'
import { kindOf } from './server/names.ts'
import type { Terminal } from './terminal.ts'
import { topicSummaries, topics } from './help/topics.ts'
import { unknownCommand } from './unknown.ts'

/** Renders help for a topic, an area or one command; without a topic, for the whole program. */
export async function helpOn(topic: readonly (string | ListedEndpoint)[], terminal: Terminal): Promise<string> {
  const [head] = topic
  if (head === undefined) return programHelp(terminal)
  if (typeof head !== 'string') return commandHelp(head, terminal)
  const words = expandCommand(topic as readonly string[])
  const page = topics[head]
  if (page) return page(terminal)
  const special = specialFor(words)
  if (special) return specialHelp(special, terminal)
  const match = await findCommand(words)
  if (match.kind === 'command') return commandHelp(match.listed, terminal)
  if (match.kind === 'group' && match.wrong !== null) throw await unknownCommand(match, words)
  if (match.kind === 'group') return groupHelp(match.words[0]!, match.listed, terminal)
  const under = specialsUnder(match.word)
  const [, wrong] = words
  if (under.length > 0 && wrong !== undefined)
    throw await unknownCommand({ kind: 'group', listed: [], words: [match.word], wrong }, words)
  if (under.length > 0) return specialsHelp(match.word, under, terminal)
  const near = nearWords(match.word, [
    ...match.known,
    ...specials.map(({ words: [first] }) => first!),
    ...Object.keys(topics),
  ])
  throw new Stop('usage', `No help for "${match.word}".`, didYouMean(near) ?? 'See `uk help`.')
}

async function programHelp(terminal: Terminal): Promise<string> {
  const groups = [...(await commandGroups())].map(([word, { area }]): Pair => [word, area.summary])
  return sections(terminal, [
    ['Usage', 'uk <area> <command> [values] [--options]'],
    ['Examples', examples(['uk login', 'uk me get', 'uk api-keys list', 'uk help exit-codes'])],
    ['Areas', columns(groups, terminal)],
    ['Other commands', columns(specials.map(commandPair), terminal)],
    ['Global options', columns(optionPairs(), terminal)],
    [
      'Help',
      columns(
        Object.keys(topics).map((name): Pair => [`uk help ${name}`, topicSummaries[name]!]),
        terminal,
      ),
    ],
  ])
}

function groupHelp(word: string, listed: readonly ListedEndpoint[], terminal: Terminal): string {
  const { title, summary } = listed[0]!.area
  const commands = [
    ...listed.map((one): Pair => [usageOf(one).slice(3), one.endpoint.summary]),
    ...specialsUnder(word).map(commandPair),
  ]
  return sections(terminal, [
    [title, summary],
    ['Usage', `uk ${word} <command> [values] [--options]`],
    ['Commands', columns(commands, terminal)],
    ['More', `uk help ${word} <command>`],
  ])
}

function commandHelp(listed: ListedEndpoint, terminal: Terminal): string {
  const { endpoint } = listed
  const fields = fieldsOf(endpoint)
  const positional = positionals(fields)
  const flags = fields.filter((field) => !field.inPath)
  const { kind } = endpoint.reply
  const useful = optionPairs().filter(([words]) => {
    const option = words.split(' ')[0]!.slice(2)
    if (fields.some(({ flag }) => flag === option)) return false
    if (option === 'output' && fileOf(listed.name) !== undefined) return true
    return optionFits(option, isOnItsWay(listed) ? 'operation' : kind, endpoint.access.kind === 'session')
  })
  return sections(terminal, [
    [endpoint.summary, endpoint.description ?? ''],
    ['Usage', `${usageOf(listed)}${flags.length > 0 ? ' [--options]' : ''}`],
    [
      'Values',
      columns(
        positional.map((field): Pair => [`<${field.flag}>`, aboutValue(listed, field)]),
        terminal,
      ),
    ],
    [
      'Options',
      columns(
        flags.map((field): Pair => [flagWords(endpoint, field), aboutField(field)]),
        terminal,
      ),
    ],
    ['Global options', columns(useful, terminal)],
    ['Examples', examples(exampleCommands(listed))],
    ['Requires', needs(listed)],
    [
      'Possible errors',
      refusalsOf(endpoint)
        .filter((code) => endpoint.errors?.includes(code))
        .join(', '),
    ],
    ['Request', `${endpoint.method} /v1${endpoint.path}`],
  ])
}

const optionFits = (option: string, kind: string, session: boolean): boolean =>
  ({
    all: kind === 'page',
    wait: kind === 'operation',
    output: kind === 'bytes' || kind === 'stream',
    email: session,
    'password-stdin': session,
  })[option] ?? true

function needs({ endpoint: { access, consent } }: ListedEndpoint): string {
  switch (credentialsFor(access)) {
    case 'session':
      return "Your password. API keys can't do this."
    case 'none':
      return "Nothing. You don't need to be signed in."
    case 'key_or_session': {
      const key = `An API key with the ${scopeOf(access)} scope.`
      return consent === undefined ? key : `${key} Agents also need a person's approval for each call.`
    }
  }
}

function flagWords(endpoint: AnyEndpoint, field: Field): string {
  const { flag, kind, fallback } = field
  if (kind !== 'switch') return `--${flag} <${placeholderOf(endpoint, field)}>`
  return fallback === true ? `--no-${flag}` : `--[no-]${flag}`
}

const aboutValue = ({ endpoint }: ListedEndpoint, field: Field): string =>
  field.inPath && kindOf(endpoint, field.name) !== undefined
    ? `The ${kindOf(endpoint, field.name)!.replace('_', ' ')}'s ${kindOf(endpoint, field.name) === 'file' ? 'path' : 'name'} or ID.`
    : aboutField(field)

function aboutField(field: Field): string {
  const { description, choices, fallback, kind, required, inPath, secret, ofThings, example } = field
  const parts = [
    description,
    choices.length > 0 && choices.length <= 8 ? `One of ${choices.join(', ')}.` : '',
    choices.length > 8 && choices.includes('user:read') ? 'Run `uk help scopes` for the list.' : '',
    ofThings ? `Each item is JSON, such as ${asWord(example)}.` : '',
    kind === 'list' ? 'Repeatable.' : '',
    secret ? 'Pass - for stdin, or @file.' : '',
    description.includes('Default') ? '' : defaultWords(fallback),
    required && !inPath ? 'Required.' : '',
  ]
  return parts.filter(Boolean).join(' ')
}

function defaultWords(fallback: unknown): string {
  if (
    fallback === undefined ||
    fallback === null ||
    fallback === '' ||
    (Array.isArray(fallback) && fallback.length === 0)
  )
    return ''
  return `Default: ${typeof fallback === 'object' ? JSON.stringify(fallback) : String(fallback)}.`
}

const commandPair = ({ words, summary }: Special): Pair => [words.join(' '), summary]

const specialsHelp = (word: string, under: readonly Special[], terminal: Terminal): string =>
  sections(terminal, [
    ['Usage', `uk ${word} <command> [values] [--options]`],
    ['Commands', columns(under.map(commandPair), terminal)],
    ['More', `uk help ${word} <command>`],
  ])

const specialHelp = ({ words, usage, summary, more, examples: own }: Special, terminal: Terminal): string =>
  sections(terminal, [
    [summary, more],
    ['Usage', `uk ${words.join(' ')} ${usage}`.trim()],
    [
      'Examples',
      examples(
        own ?? [
          `uk ${words.join(' ')} ${usage.includes('bash|') ? 'bash' : usage.includes('--json') ? '--json' : ''}`.trim(),
        ],
      ),
    ],
  ])

const optionPairs = (): Pair[] =>
  Object.entries(globals).map(([name, [, meaning, placeholder]]): Pair => [
    `--${name}${placeholder === undefined ? '' : ` <${placeholder}>`}`,
    meaning,
  ])
