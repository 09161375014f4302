/**
 * The daemon of a cloud computer: the only program that is started in a sandbox, from one bundled file. It holds
 * terminals and commands itself, for they end with the sandbox anyway, and reaches its server over a socket in a folder
 * that is bound into the sandbox: each process of the server listens on one of its own there. It has no `await` outside of
 * functions: its bundle is CommonJS (`modules/computers/drivers/inside/program.ts`).
 *
 * `STATE_FOLDER SOCKET_FOLDER ADDON`, or `engine …`: an engine's own process, which that daemon starts.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { answer, type Kept } from './keeper/keeper.ts'
import { Execs } from './keeper/execs/execs.ts'
import { loadAddon } from './keeper/processes/addon.ts'
import { Terminals } from './keeper/terminals/terminals.ts'
import { type Keeper, runDaemon } from './run.ts'
import { makeFolder } from './state.ts'

const [kind, ...words] = process.argv.slice(2)
const fail = (error: unknown): void => {
  console.error(new Date().toISOString(), error)
  process.exit(1)
}
if (kind === 'engine') import('./engines/child.ts').then(({ runEngine }) => runEngine(words)).catch(fail)
// It is only read, by whoever keeps what V8 makes of it.
else if (kind !== 'compile') serveComputer(process.argv.slice(2) as [string, string, string]).catch(fail)

async function serveComputer([folder, sockets, addon]: readonly [string, string, string]): Promise<void> {
  // It holds what others rely on: a fault costs the call in which it happened.
  process.on('uncaughtException', (error) => console.error(new Date().toISOString(), error))
  process.on('SIGHUP', () => {})
  // A file that would be larger than it may be: the call that writes it fails.
  process.on('SIGXFSZ', () => {})

  await makeFolder(folder)
  loadAddon(addon)
  const kept: Kept = {
    execs: new Execs(folder, undefined, ofImage),
    terminals: new Terminals(join(folder, 'terminals'), addon, undefined, ofImage),
  }
  const keeperId = randomUUID()
  const keeper: Keeper = {
    hello: async () => ({ keeper_id: keeperId }),
    answer: (op, input, stream, signal) => answer(kept, op, input, stream, signal),
    close: async () => {},
  }

  const stopping = new AbortController()
  process.once('SIGTERM', () => stopping.abort())
  await runDaemon({
    folder,
    version: process.env['UK_VERSION'] ?? '0',
    allows: null,
    roots: null,
    url: null,
    socketPath: socketsIn(sockets),
    engines: { program: [...ownWords(), 'engine'] },
    longestWaitMs: 1_000,
    keeper,
    say: (line) => console.error(new Date().toISOString(), line),
    signal: stopping.signal,
  })
  process.exit(0)
}

/** The environment of commands and terminals. Nobody's keys are in it: it is what the image names, and its programs go by that. */
function ofImage(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !/^(UK_.*|NODE_.*|_|OLDPWD|SHLVL)$/.test(entry[0]),
    ),
  )
}

/** Another socket of the server each time: one whose process has gone is not asked for ever. */
function socketsIn(folder: string): () => string {
  let turn = 0
  return () => {
    const found = readdirSync(folder)
      .filter((name) => name.endsWith('.sock'))
      .toSorted()
    return join(folder, found[turn++ % Math.max(1, found.length)] ?? 'none.sock')
  }
}

/** The words that started this program, without its own: in a container Node is run by a loader, which Node takes for itself. */
function ownWords(): string[] {
  const words = readFileSync('/proc/self/cmdline', 'utf8').split('\0')
  return words.slice(0, words.indexOf(process.argv[1]!) + 1)
}
