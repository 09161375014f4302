import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { signalAll } from '../program.ts'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { isHeld, holderOf } from '#daemon/lock.ts'
import { roomForRun } from '../room.ts'
import type { Caller } from '../server.ts'
import { until } from '../until.ts'

const ROOT = join(import.meta.dirname, '../..')
export const WITH_NODE = `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`

export interface ProgramResult {
  code: number | null
  output: string
}

/** Runs a program and collects stdout and stderr. */
export function ends(
  file: string,
  args: readonly string[],
  options: SpawnOptions,
  input?: string,
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    const child: ChildProcess = spawn(file, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => (output += String(part)))
    // The program may exit before reading everything.
    child.stdin!.on('error', () => {}).end(input ?? '')
    child.once('error', reject).once('close', (code) => resolve({ code, output }))
  })
}

/** An empty home folder and what the install script creates there. */
export interface Machine extends AsyncDisposable {
  home: string
  env: Record<string, string>
  /** The installation's folder. */
  place: string
  /** The daemon's state folder. */
  folder: string
  /** `curl … | sh -s -- WORDS` with a token of this user. */
  install(origin: string, person: Caller, words?: readonly string[]): Promise<ProgramResult>
  uk(...words: string[]): Promise<ProgramResult>
  computerId(): string
  /** The installed release. */
  release(): string
  pid(): number | null
  log(): string
}

export function machine(path = WITH_NODE): Machine {
  const home = mkdtempSync(join(roomForRun(), 'home-'))
  const folder = join(home, '.config/ukiyo')
  const place = join(home, '.local/share/ukiyo')
  const lock = join(folder, 'daemon.lock')
  const env: Record<string, string> = { PATH: path, HOME: home }
  const state = () => JSON.parse(readFileSync(join(folder, 'computer.json'), 'utf8')) as { computer_id: string }
  const one: Machine = {
    home,
    env,
    place,
    folder,
    async install(origin, person, words = []) {
      const { token } = (await person.post('/computer-pairings', {})).body.data
      const script = await (await fetch(`${origin}/install`)).text()
      return ends('sh', ['-s', '--', ...words], { env: { ...env, UK_PAIR_TOKEN: token }, cwd: home }, script)
    },
    uk: (...words) => ends(join(place, 'bin/uk'), words, { env, cwd: home }),
    computerId: () => state().computer_id,
    release: () => /[0-9a-f]{64}/.exec(readlinkSync(join(place, 'current')))![0],
    pid: () => (isHeld(lock) ? Number(holderOf(lock)) : null),
    log: () => (existsSync(join(folder, 'daemon.log')) ? readFileSync(join(folder, 'daemon.log'), 'utf8') : ''),
    async [Symbol.asyncDispose]() {
      const signaledPids = new Set<number>()
      // A daemon that is updating holds no lock and starts another keeper.
      await until(
        async () => {
          const pids = runningFrom(home)
          signalAll(
            pids.filter((pid) => !signaledPids.has(pid)),
            'SIGTERM',
          )
          for (const pid of pids) signaledPids.add(pid)
          return pids
        },
        (pids) => pids.length === 0,
      )
      rmSync(home, { recursive: true, force: true, maxRetries: 10 })
    },
  }
  return one
}

const runningFrom = (folder: string): number[] =>
  readdirSync('/proc')
    .filter((pid) => {
      try {
        return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`${folder}/`)
      } catch {
        return false
      }
    })
    .map(Number)

/** Another clone as a later version: files under `src/` with replacements. */
export interface Clone extends Disposable {
  root: string
}

export function laterClone(version: string, edits: Record<string, readonly [from: string, to: string]> = {}): Clone {
  const root = mkdtempSync(join(roomForRun(), 'clone-'))
  for (const name of ['daemon', 'daemon-protocol', 'core', 'interfaces', 'modules'])
    cpSync(join(ROOT, 'src', name), join(root, 'src', name), {
      recursive: true,
      filter: (file) => !/\.(test|long)\.ts$/.test(file),
    })
  cpSync(join(ROOT, 'packages'), join(root, 'packages'), {
    recursive: true,
    filter: (file) => !/\.(test|long)\.ts$|\/dist$/.test(file),
  })
  const about = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...about, version }))
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  for (const [name, [from, to]] of Object.entries(edits)) {
    const file = join(root, 'src', name)
    const text = readFileSync(file, 'utf8')
    if (!text.includes(from)) throw new Error(`${name} has no ${from}`)
    writeFileSync(
      file,
      text.replace(from, () => to),
    )
  }
  return { root, [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) }
}

/** Versions in the folder, complete or not. */
export const versionsIn = ({ place }: Machine): string[] =>
  existsSync(join(place, 'versions')) ? readdirSync(join(place, 'versions')) : []
