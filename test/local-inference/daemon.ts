import { type ChildProcess, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { install } from '#daemon/engines/llama/install.ts'
import { daemonHome } from '../link/run-daemon.ts'
import type { Person } from '../server.ts'
import { until } from '../until.ts'

/** Where the tests keep llama.cpp from run to run, since it is downloaded. */
export const engineFolder = join(import.meta.dirname, '../../node_modules/.cache/engines')

/** Sees to it that llama.cpp is there. */
export async function bringEngine(): Promise<void> {
  mkdirSync(engineFolder, { recursive: true })
  await install(engineFolder, new AbortController().signal)
}

/** `uk computer run` as a process of its own. */
export interface DaemonProcess extends AsyncDisposable {
  id: string
  folder: string
  said(): string
  /** Ends it, by SIGKILL or as a person would. */
  stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
  /** Starts it again, as it was. */
  start(): Promise<void>
  /** The process of llama.cpp, once it runs. */
  engine(): Promise<number>
}

interface Options {
  name?: string
  allow?: string
  /** Further ones of its command line. */
  words?: readonly string[]
  environment?: Record<string, string>
}

/** A machine of somebody's, whose daemon runs. */
export async function daemonProcess(
  origin: string,
  person: Person,
  { name = 'Box', allow = 'inference', words = [], environment = {} }: Options = {},
): Promise<DaemonProcess> {
  const own = words.includes('--engine-folder') ? [] : ['--engine-folder', engineFolder]
  const given = ['--engine-gpu', 'off', ...own, ...words]
  const home = daemonHome()
  const { token } = (await person.post('/computer-pairings', { name })).body.data
  let child: ChildProcess
  let text = ''
  async function start(more: Record<string, string> = {}): Promise<void> {
    text = ''
    child = spawn(
      'sh',
      [join(import.meta.dirname, '../../bin/uk'), 'computer', 'run', '--url', origin, '--allow', allow, ...given],
      {
        env: {
          PATH: process.env.PATH,
          HOME: home.folder,
          UK_CONFIG_DIR: home.folder,
          // Nobody's.
          OLLAMA_HOST: 'http://127.0.0.1:9',
          ...environment,
          ...more,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    )
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (part: Buffer) => (text += String(part)))
    await until(
      () => Promise.resolve(text),
      (said) => said.includes('connected to') || child.exitCode !== null,
    )
    if (child.exitCode !== null) throw new Error(text)
  }
  async function stop(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await ended
  }
  await start({ UK_PAIR_TOKEN: token })
  const { computer_id: id } = JSON.parse(readFileSync(join(home.folder, 'computer.json'), 'utf8')) as {
    computer_id: string
  }
  return {
    id,
    folder: home.folder,
    said: () => text,
    stop,
    start: () => start(),
    engine: () =>
      until(
        () => Promise.resolve(engineBelow(child.pid!)),
        (pid) => pid !== null,
      ) as Promise<number>,
    async [Symbol.asyncDispose]() {
      await stop('SIGTERM')
      await home[Symbol.asyncDispose]()
    },
  }
}

/** Among the processes that this one began, and those that they began: llama.cpp's. */
function engineBelow(pid: number): number | null {
  for (const name of readdirSync('/proc')) {
    const words = wordsOf(name)
    if (!words.includes('engines/main.ts\0llama')) continue
    for (let one = Number(name); one > 1; one = parentOf(one)) if (one === pid) return Number(name)
  }
  return null
}

function wordsOf(pid: string): string {
  try {
    return /^\d+$/.test(pid) ? readFileSync(`/proc/${pid}/cmdline`, 'latin1') : ''
  } catch {
    // It has ended.
    return ''
  }
}

function parentOf(pid: number): number {
  try {
    return Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? 0)
  } catch {
    return 0
  }
}

/** A folder with an `npm` of its own, to be put before the PATH: it takes `seconds` to bring what the tests have. */
export function slowNpm(folder: string, seconds: number): string {
  const file = join(folder, 'npm')
  writeFileSync(
    file,
    `#!/bin/sh\nsleep ${seconds}\nln -s ${join(engineFolder, 'llama-3.21.1/node_modules')} node_modules\n`,
  )
  chmodSync(file, 0o755)
  return `${folder}:${process.env.PATH}`
}
