import { chownSync, closeSync, existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import tty from 'node:tty'
import { type Addon, installedAddon, loadAddon } from './addon.ts'
import { type Child, childOf, startChild } from './child.ts'
import { forget, hideFromChildren, nullDescriptor } from './descriptors.ts'
import type { Launch } from './launch.ts'
import { type Ending, statOf } from './proc.ts'

export interface Pty {
  readonly child: Child
  /** Stays open when the keeper's program is replaced. */
  readonly master: number
  readonly stream: tty.ReadStream
  /** The program has opened the terminal, and the keeper has closed the slave end. */
  readonly isTaken: boolean
  /** The program has ended and all its output was read. */
  readonly ended: Promise<Ending>
  resize(cols: number, rows: number): void
}

/** How long another process may hold the terminal open after its program ended. */
const HELD_MS = 2_000
const LOOK_MS = 50

export async function openPty(launch: Launch, cols: number, rows: number, addonPath?: string): Promise<Pty> {
  const addon = loadAddon(addonPath)
  if (process.platform === 'darwin') return forkPty(addon, launch, cols, rows, addonPath)
  const { master, slave, pty } = addon.open(cols, rows)
  hideFromChildren(master)
  hideFromChildren(slave)
  try {
    if (launch.owner) chownSync(pty, launch.owner.uid, statSync(pty).gid)
    // On Linux a session leader that opens a terminal gets it as its controlling terminal.
    const argv = ['/bin/sh', '-c', 'exec "$@" <>"$0" >&0 2>&1', pty, ...launch.argv]
    const nothing = nullDescriptor()
    const child = await startChild({ ...launch, argv }, [nothing, nothing, nothing])
    return attach(addon, child, master, {
      isOpen: () => statOf(child.pid)?.terminal !== 0,
      close: () => {
        forget(slave)
        closeSync(slave)
      },
    })
  } catch (error) {
    for (const descriptor of [master, slave]) {
      forget(descriptor)
      closeSync(descriptor)
    }
    throw error
  }
}

export function adoptPty(master: number, child: Child, addonPath?: string): Pty {
  hideFromChildren(master)
  return attach(loadAddon(addonPath), child, master, null)
}

/** The slave end, held open until the program has opened it: a terminal without a holder has ended. */
interface Slave {
  isOpen(): boolean
  close(): void
}

function attach(addon: Addon, child: Child, master: number, slave: Slave | null): Pty {
  const stream = new tty.ReadStream(master)
  const letGo = (): void => {
    clearInterval(looking)
    slave?.close()
    slave = null
  }
  const looking = setInterval(() => {
    if (slave?.isOpen() !== false) letGo()
  }, LOOK_MS).unref()
  // EIO means no process has the terminal open and everything was read.
  const drained = new Promise<void>((resolve) => stream.on('error', resolve).on('close', () => resolve()))
  const ended = (async () => {
    const ending = await child.ended
    letGo()
    stream.resume()
    await Promise.race([drained, sleep(HELD_MS, undefined, { ref: false })])
    stream.destroy()
    forget(master)
    return ending
  })()
  ended.catch(() => {})
  return {
    child,
    master,
    stream,
    ended,
    get isTaken() {
      return slave === null
    },
    resize: (cols, rows) => {
      if (!stream.destroyed) addon.resize(master, cols, rows)
    },
  }
}

/** For macOS, where opening a terminal doesn't make it the controlling one, so the addon forks. Not tested on a Mac. */
function forkPty(addon: Addon, { argv, cwd, env }: Launch, cols: number, rows: number, addonPath?: string): Pty {
  const [file = '', ...args] = argv
  const helper = join(dirname(addonPath ?? installedAddon()), 'spawn-helper')
  if (!existsSync(helper)) throw new Error(`${helper} is missing`)
  let end: (ending: Ending) => void = () => {}
  const ended = new Promise<Ending>((resolve) => (end = resolve))
  const pairs = Object.entries(env).map(([name, value]) => `${name}=${value}`)
  const { fd, pid } = addon.fork(file, args, pairs, cwd, cols, rows, -1, -1, true, helper, (exit_code, signal) =>
    end(signal === 0 ? { exit_code, signal: null } : { exit_code: null, signal: `SIG${signal}` }),
  )
  hideFromChildren(fd)
  return attach(addon, childOf(pid, statOf(pid)?.started ?? '', ended), fd, null)
}
