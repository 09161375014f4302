import { createRequire } from 'node:module'

/**
 * node-pty's `pty.node`. On Linux only `open` and `resize` are used: the package's wrapper loses output of programs
 * that end while paused, and needs a thread per terminal.
 */
export interface Addon {
  /** Opens a master and slave pair. Neither is close-on-exec. */
  open(cols: number, rows: number): { master: number; slave: number; pty: string }
  resize(master: number, cols: number, rows: number): void
  /** macOS: opens a terminal and starts a program in it with `helper`. */
  fork(
    file: string,
    args: string[],
    env: string[],
    cwd: string,
    cols: number,
    rows: number,
    uid: number,
    gid: number,
    utf8: boolean,
    helper: string,
    onExit: (code: number, signal: number) => void,
  ): { fd: number; pid: number; pty: string }
}

let loaded: Addon | undefined

/** `path`: absolute, the addon beside the bundled daemon. Default: the installed package. */
export function loadAddon(path?: string): Addon {
  if (loaded) return loaded
  const file = path ?? installedAddon()
  const module = { exports: {} as Addon }
  process.dlopen(module, file)
  return (loaded = module.exports)
}

export function installedAddon(): string {
  return createRequire(import.meta.url).resolve(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`)
}
