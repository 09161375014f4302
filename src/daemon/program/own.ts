/** Locates the running program: a clone, or a single bundled file from a server and the files beside it. */
import { basename, dirname, join } from 'node:path'
import { type Version, versionAt } from './versions.ts'

/** Every module inside the bundle reports this file as its path. */
export const PROGRAM = 'uk.mjs'
export const ADDON = 'pty.node'

const here = import.meta.filename
const bundled = basename(here) === PROGRAM

/** The running release if `/install` or an update put it there. Null: not updatable. */
export const ownVersion: Version | null = bundled ? versionAt(dirname(here)) : null

export const FLAGS = ['--disable-warning=ExperimentalWarning'] as const
/** Node flags: a small young generation, since nearly all allocations are short-lived buffers. */
export const KEEPER_FLAGS = ['--max-semi-space-size=2'] as const

export const ownCommand: readonly string[] = bundled
  ? [process.execPath, ...FLAGS, here]
  : [process.execPath, ...process.execArgv, process.argv[1]!]

export const lastingCommand: readonly string[] =
  ownVersion === null ? ownCommand : [join(ownVersion.place, 'node'), ...FLAGS, currentFile(ownVersion.place)]

export function currentFile(place: string): string {
  return join(place, 'current', PROGRAM)
}

export const lastingAddon: string | undefined = ownVersion ? join(ownVersion.place, 'current', ADDON) : undefined

/** The addon beside the bundle. Undefined: use the one from the installed package. */
export const ownAddon: string | undefined = bundled ? join(dirname(here), ADDON) : undefined

/** The command that starts the keeper. Null: the clone's own file. */
export const keeperCommand = (first: readonly string[] = ownCommand, addon = ownAddon): readonly string[] | null =>
  addon === undefined ? null : [first[0]!, ...KEEPER_FLAGS, ...first.slice(1), 'keeper', '--addon', addon]

/** The command that starts the llama.cpp process. Null: the clone's own file. */
export const engineCommand: readonly string[] | null = bundled ? [...ownCommand, 'engine'] : null
