import type { ListedEndpoint } from '#core/registry.ts'
import { globals } from './globals.ts'
import { expandCommand } from './aliases.ts'
import type { Fill } from './input/arguments.ts'
import { codeOf } from './exit.ts'
import type { Found } from './resolve.ts'
import { specialFor, specialsUnder } from './commands/specials.ts'
import type { Terminal } from './terminal.ts'

export async function run(argv: readonly string[], terminal: Terminal): Promise<number> {
  const { words: typed, asksHelp } = startOf(argv)
  const words = expandCommand(typed)
  const json = argv.includes('--json')
  try {
    if (['--version', '-V', '-v', 'version'].includes(argv[0] ?? '')) return await printVersion(terminal)
    if (argv.length === 0) return await welcome(terminal)
    if (words.length === 0 || words[0] === 'help') return await help(words.slice(1), terminal, true)
    const special = specialFor(words)
    if (special) {
      if (asksHelp) return await help([...special.words], terminal, true)
      return await special.run(words.slice(special.words.length), terminal)
    }
    // Loaded only now: importing the contracts takes most of the startup time.
    const { findCommand } = await import('./resolve.ts')
    const match = orGroup(await findCommand(words), words)
    if (match.kind === 'command') return await runEndpoint(match.listed, match.rest, terminal)
    if (match.kind === 'group' && match.wrong === null) return await help(match.words, terminal, asksHelp)
    throw await (await import('./unknown.ts')).unknownCommand(match, words)
  } catch (error) {
    const { explain } = await import('./failure.ts')
    return explain(error, { terminal, json, words, special: specialFor(words) })
  }
}

/** Moves global options in front of the first word behind it, where every command parses them. */
function startOf(argv: readonly string[]): { words: string[]; asksHelp: boolean } {
  const before: string[] = []
  let i = 0
  for (; i < argv.length && argv[i]!.startsWith('-'); i++) {
    before.push(argv[i]!)
    const option =
      { '-o': globals.output, '-q': globals.query }[argv[i]!] ?? globals[argv[i]!.slice(2) as keyof typeof globals]
    if (option?.[0] === 'value' && i + 1 < argv.length) before.push(argv[++i]!)
  }
  const rest = argv.slice(i)
  // Words after `--` belong to another program.
  const own = argv.includes('--') ? argv.slice(0, argv.indexOf('--')) : argv
  const asksHelp = own.includes('--help') || own.includes('-h')
  const end = rest.includes('--') ? rest.indexOf('--') : rest.length
  return { words: rest.length === 0 ? [] : [...rest.slice(0, end), ...before, ...rest.slice(end)], asksHelp }
}

/** `uk computer` groups commands like an area, but none of them is an endpoint. */
function orGroup(match: Found, [, wrong]: readonly string[]): Found {
  if (match.kind !== 'nothing' || specialsUnder(match.word).length === 0) return match
  return { kind: 'group', listed: [], words: [match.word], wrong: wrong?.startsWith('-') ? null : (wrong ?? null) }
}

async function runEndpoint(listed: ListedEndpoint, words: readonly string[], terminal: Terminal): Promise<number> {
  const [{ fieldsOf }, { parseArguments }, { readText }, { callEndpoint }] = await Promise.all([
    import('./input/fields.ts'),
    import('./input/arguments.ts'),
    import('./input/input.ts'),
    import('./server/call.ts'),
  ])
  const fill: Fill = async (field, given) =>
    terminal.canAsk && !given['no-input']
      ? (await import('./input/prompt.ts')).askField(field, given, terminal)
      : undefined
  const { input, globals } = await parseArguments(words, fieldsOf(listed.endpoint), readText, fill)
  if (globals.help) return help([listed], terminal, true)
  return callEndpoint(listed, input, globals, terminal)
}

async function help(
  topic: readonly (string | ListedEndpoint)[],
  terminal: Terminal,
  isRequested: boolean,
): Promise<number> {
  const { helpOn } = await import('./help.ts')
  const text = await helpOn(topic, terminal)
  if (isRequested) await terminal.out(text)
  else terminal.err(text)
  return codeOf(isRequested ? 'ok' : 'usage')
}

/** Printed by `uk` without arguments. */
async function welcome(terminal: Terminal): Promise<number> {
  const [{ welcomePage }, { readLogin }] = await Promise.all([
    import('./help/welcome.ts'),
    import('./server/credentials.ts'),
  ])
  const signedIn = terminal.env.UK_KEY ? true : (await readLogin(terminal).catch(() => null)) !== null
  await terminal.out(welcomePage(signedIn, terminal))
  return codeOf('ok')
}

async function printVersion(terminal: Terminal): Promise<number> {
  const [{ default: about }, { newestVersion }] = await Promise.all([
    import('../../../package.json', { with: { type: 'json' } }),
    import('#core/contract.ts'),
  ])
  await terminal.out(`uk ${about.version} (API ${newestVersion})\n`)
  return codeOf('ok')
}
