import { loadContracts } from '#modules/contracts.ts'
import { scopeOf } from '#core/access.ts'
import { list } from '#core/registry.ts'
import { scopes } from '#core/scopes.ts'
import { wordsOf } from '../../words.ts'
import { usageOf } from './examples.ts'
import { exits } from '../exit.ts'
import { type Pair, columns } from '../output/layout.ts'
import type { Terminal } from '../terminal.ts'

export const topicSummaries: Record<string, string> = {
  commands: 'All commands, one per line.',
  scopes: 'API key scopes and the commands they allow.',
  'exit-codes': 'Exit codes and what they mean.',
  input: 'Passing values, files, stdin, lists and JSON.',
  output: 'Tables, JSON, filters and pipes.',
  environment: 'Environment variables and files.',
}
export const topics: Record<string, (terminal: Terminal) => string | Promise<string>> = {
  commands: async (terminal) =>
    columns(
      list(await loadContracts()).map((one): Pair => [usageOf(one), one.endpoint.summary]),
      terminal,
    ),
  scopes: async (terminal) => {
    const all = list(await loadContracts())
    const commands = (scope: string): string =>
      scope === 'gateway:run'
        ? 'The gateways SDKs call: /compat-a/v1, /compat-b/v1 and /compat-c/v1.'
        : all.flatMap((one) => (scopeOf(one.endpoint.access) === scope ? wordsOf(one).join(' ') : [])).join(', ')
    return columns(
      [
        ['*', 'Everything you can do when you create the key. A `write` scope includes its `read` scope.'],
        ...scopes.map((scope): Pair => [scope, commands(scope)]).filter(([, about]) => about !== ''),
      ],
      terminal,
    )
  },
  'exit-codes': (terminal) =>
    columns(
      Object.values(exits).map(([code, meaning]): Pair => [String(code), meaning]),
      terminal,
    ),
  input: (terminal) =>
    columns(
      [
        [
          '<value>',
          'Path parameters and required text or numbers go by position, in the order of the usage line, or as flags.',
        ],
        ['--name value', 'Also --name=value. Everything after -- is a positional value.'],
        ['ls, rm, show, new', 'Aliases of list, trash or delete, get and create in every area: uk chats ls.'],
        ['--flag, --no-flag', 'Turns a switch on or off.'],
        [
          '--expires-at 7d',
          'A time. A duration in s, m, h, d or w counts forward for fields such as --expires-at, and back for all others; +1h and -1h are explicit. Also 2026-12-24 or 2026-12-24T18:00 in local time, or ISO 8601 with a time zone.',
        ],
        ['--from 7d', 'A UTC day: 7d (seven days ago), today, yesterday, or 2026-12-24.'],
        ['--tag a --tag b', 'A list. Repeat the flag, or pass a JSON array: \'["a","b"]\'.'],
        [
          '@file, -',
          'Reads the value from a file or from stdin. Not for path parameters. Write @@x for the text @x. Schedules such as @daily are text.',
        ],
        [
          '--image <file>',
          'An image or a recording: a local path (./cat.png), a URL, the ID of a drive file, or JSON.',
        ],
        [
          'names',
          'Instead of an ID, use the name of an agent, automation, chat, computer, workspace, key, provider or webhook, the email of a member, or the path of a drive file.',
        ],
        ['null', 'Clears an optional field.'],
        ['--input file', 'All fields as one JSON object. Flags take precedence.'],
        [
          'passwords, keys',
          'Never typed on the command line, where other users of the machine can read them. Pass - or @file, or wait for the prompt.',
        ],
      ],
      terminal,
    ),
  output: (terminal) =>
    columns(
      [
        ['stdout, stderr', 'Data goes to stdout, messages go to stderr.'],
        ['in a terminal', 'Lists are tables fitted to the window. Single objects print one field per line.'],
        ['in a pipe', 'Lists are complete and tab-separated. The header line of a command never changes.'],
        [
          '--json',
          "The API's JSON response. With --all, one row per line. Streams print one event per line. Errors go to stderr as JSON.",
        ],
        ['-q id', 'Prints one field. For a list, prints it for every row. Use dots for nested fields: -q run.status.'],
        ['--jq filter', 'Filters the JSON response: --jq \'.data[] | select(.status == "active") | .name\'.'],
        ['streams', 'Model text prints as it arrives. Other events print one per line.'],
        [
          '-o file, --output file',
          'Saves the downloaded or generated file. The extension picks the format: -o speech.wav.',
        ],
        ['images', 'Shown inline in kitty, Ghostty, iTerm2, WezTerm and terminals with sixel support.'],
        ['NO_COLOR', 'Turns colors off.'],
      ],
      terminal,
    ),
  environment: (terminal) =>
    columns(
      [
        ['UK_KEY', 'The API key. Overrides your login.'],
        [
          'UK_ORIGIN',
          'The server to connect to. --origin overrides it. Default: the server you signed in to, or http://127.0.0.1:4242.',
        ],
        ['UK_WORKSPACE', 'The workspace to use, by name or ID. --workspace overrides it.'],
        [
          'XDG_CONFIG_HOME',
          'Your login is stored in ukiyo/credentials.json in this folder (mode 0600). Default: ~/.config.',
        ],
        [
          'XDG_STATE_HOME',
          'The selected workspace, the last chat, the `uk chat` history and unfinished transfers are stored in ukiyo/ in this folder. Default: ~/.local/state.',
        ],
        ['XDG_CACHE_HOME', 'Compiled code is cached in ukiyo/compile in this folder. Default: ~/.cache.'],
        ['NO_COLOR, FORCE_COLOR', 'Turn colors off, or force them in a pipe.'],
      ],
      terminal,
    ),
}
