import { loadContracts } from '#modules/contracts.ts'
import { list } from '#core/registry.ts'
import { scopes } from '#core/scopes.ts'
import { wordsOf } from '../../words.ts'
import { usageOf } from './examples.ts'
import { exits } from '../exit.ts'
import { type Pair, columns } from '../output/layout.ts'
import type { Terminal } from '../terminal.ts'

/** Help on what concerns every command. */
export const topicSummaries: Record<string, string> = {
  commands: 'Every command on a line.',
  scopes: 'What a key may do.',
  'exit-codes': 'How the program ends.',
  input: 'Values, files, stdin, lists and JSON.',
  output: 'Tables, --json and pipes.',
  environment: 'Variables and files that are read.',
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
        ? 'The gateways, /compat-a/v1, /compat-b/v1 and /compat-c/v1, which SDKs call.'
        : all.flatMap((one) => (one.endpoint.scope === scope ? wordsOf(one).join(' ') : [])).join(', ')
    return columns(
      [
        [
          '*',
          'All that you may do yourself, as of the day the key is made. A scope with `write` holds that with `read`.',
        ],
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
          'The parts of the path and every required text or number may be given by position, in the order of the usage line, or by flag.',
        ],
        ['--name value', 'Also --name=value. Everything after -- is a value.'],
        ['--flag, --no-flag', 'On and off.'],
        [
          '--expires-at 7d',
          'A time: s, m, h, d or w from now where something is to end, else back from now; +1h and -1h say which. Or a day, 2026-12-24, or 2026-12-24T18:00, here; or ISO 8601 with a zone.',
        ],
        ['--from 7d', 'A UTC day: so long ago, today, yesterday, or 2026-12-24.'],
        ['--tag a --tag b', 'A list: repeat the flag, or give it once as JSON: \'["a","b"]\'.'],
        [
          '@file, -',
          'The content of a file, or of stdin, in place of any value but those of the path. @@x is the text @x; schedules such as @daily are texts.',
        ],
        [
          '--image <file>',
          'A picture or a recording: ./cat.png of this machine, https://… to be fetched, the id of a file of the drive, or JSON.',
        ],
        [
          'names',
          'Agents, automations, chats, computers, workspaces, keys, providers and webhooks may be named where an id stands; members by their address, files by their path.',
        ],
        ['null', 'Empties a field that may be empty.'],
        ['--input file', 'All fields as one JSON object; flags win over it.'],
        [
          'passwords, keys',
          'Never as plain words, which other users of the machine could read: give - or @file, or be asked.',
        ],
      ],
      terminal,
    ),
  output: (terminal) =>
    columns(
      [
        ['stdout, stderr', 'Data goes to stdout, everything else to stderr.'],
        ['in a terminal', 'Lists are tables fitted to the window; single things have a field per line.'],
        [
          'in a pipe',
          'Lists are whole and tab-separated, under a line of names that is the same for every answer of a command.',
        ],
        [
          '--json',
          'Exactly what the API answers. With --all one row per line, streams one event per line; errors go to stderr as JSON too.',
        ],
        ['-q id', 'One field: of a list, of every row. A path goes deeper: -q run.status.'],
        ['--jq filter', 'What jq makes of the JSON: --jq \'.data[] | select(.status == "active") | .name\'.'],
        ['streams', 'The text of a model is written as it comes; other events one per line.'],
        ['-o file, --output file', 'Bytes, and what a model made, go to the file; `-o x.wav` asks for WAV.'],
        ['pictures', 'Shown in terminals that can: kitty, Ghostty, iTerm2, WezTerm, and those that know sixels.'],
        ['NO_COLOR', 'No colours.'],
      ],
      terminal,
    ),
  environment: (terminal) =>
    columns(
      [
        ['UK_KEY', 'The API key. Wins over the stored login.'],
        [
          'UK_ORIGIN',
          'The instance to talk to; --origin wins. Default: that of the login, else http://127.0.0.1:4242.',
        ],
        ['UK_WORKSPACE', 'The workspace that commands mean, by name or id; --workspace wins.'],
        ['XDG_CONFIG_HOME', 'ukiyo/credentials.json under it holds the login (mode 0600). Default: ~/.config.'],
        [
          'XDG_STATE_HOME',
          'ukiyo/ under it holds the chosen workspace, the last chat, the history of `uk chat` and unfinished uploads. Default: ~/.local/state.',
        ],
        ['XDG_CACHE_HOME', 'ukiyo/compile under it holds compiled code. Default: ~/.cache.'],
        ['NO_COLOR, FORCE_COLOR', 'Colours off, or on in a pipe.'],
      ],
      terminal,
    ),
}
