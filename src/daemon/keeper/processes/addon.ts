import { createRequire } from 'node:module'

/**
 * The exports of `pty.node` of node-pty. Only its `open` and `resize` are used on Linux: the package's own wrapper
 * loses output of programs that end while their terminal is paused, and costs a thread for each.
 */
export interface Addon {
  /** A new pair of a master and a slave, and the slave's path. Neither is closed in children. */
  open(cols: number, rows: number): { master: number; slave: number; pty: string }
  resize(master: number, cols: number, rows: number): void
  /** macOS: opens a terminal and starts a program in it, by `helper`. */
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

/** `path` is absolute: the file that lies beside the bundled daemon. Default: the one of the installed package. */
export function loadAddon(path?: string): Addon {
  if (loaded) return loaded
  const found = path ?? installedAddon()
  const module = { exports: {} as Addon }
  process.dlopen(module, found)
  return (loaded = module.exports)
}

export function installedAddon(): string {
  return createRequire(import.meta.url).resolve(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`)
}
