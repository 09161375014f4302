/**
 * The daemon of a cloud computer: one bundled file, the only program started in a sandbox. It runs terminals and
 * commands itself, since they end with the sandbox anyway, and connects to its server over sockets in a
 * bind-mounted folder, one per server process. The bundle is CommonJS, so top-level `await` isn't allowed
 * (`modules/computers/drivers/inside/program.ts`).
 * Arguments: `STATE_FOLDER SOCKET_FOLDER ADDON`, or `engine …` for the process of an engine.
 */
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { randomUUID } from 'node:crypto'
import { answer, type Sessions } from './keeper/keeper.ts'
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
// Only loaded, so that V8's compile cache can be stored.
else if (kind !== 'compile') serveComputer(process.argv.slice(2) as [string, string, string]).catch(fail)

async function serveComputer([folder, sockets, addon]: readonly [string, string, string]): Promise<void> {
  // Other calls depend on this process, so a fault fails only its own call.
  process.on('uncaughtException', (error) => console.error(new Date().toISOString(), error))
  process.on('SIGHUP', () => {})
  // A write beyond the file size limit fails its call instead of ending the process.
  process.on('SIGXFSZ', () => {})

  await makeFolder(folder)
  loadAddon(addon)
  const sessions: Sessions = {
    execs: new Execs(folder, undefined, ofImage),
    terminals: new Terminals(join(folder, 'terminals'), addon, undefined, ofImage),
  }
  const keeperId = randomUUID()
  const keeper: Keeper = {
    hello: async () => ({ keeper_id: keeperId }),
    answer: (op, input, stream, signal) => answer(sessions, op, input, stream, signal),
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

/** The environment for commands and terminals: the variables the image defines. It contains no credentials. */
function ofImage(environment: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(environment).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && !/^(UK_.*|NODE_.*|_|OLDPWD|SHLVL)$/.test(entry[0]),
    ),
  )
}

/** Rotates through the server's sockets, so a socket of a dead process isn't retried forever. */
function socketsIn(folder: string): () => string {
  let turn = 0
  return () => {
    const sockets = readdirSync(folder)
      .filter((name) => name.endsWith('.sock'))
      .toSorted()
    return join(folder, sockets[turn++ % Math.max(1, sockets.length)] ?? 'none.sock')
  }
}

/**
 * Returns the command that started this program, without its own arguments. In a container a loader runs Node, and
 * `process.execPath` names the loader.
 */
function ownWords(): string[] {
  const words = readFileSync('/proc/self/cmdline', 'utf8').split('\0')
  return words.slice(0, words.indexOf(process.argv[1]!) + 1)
}
