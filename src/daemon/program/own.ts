/** Which program this is: the files of a clone, or one bundled file that a server gave out with what lies beside it. */
import { basename, dirname, join } from 'node:path'
import { type Version, versionAt } from './versions.ts'

/** The bundle's name. All that is in it has this file's path for its own. */
export const PROGRAM = 'uk.mjs'
export const ADDON = 'pty.node'

const here = import.meta.filename
const bundled = basename(here) === PROGRAM

/** The release that runs here, where a server's `/install` or an update has put it; null: it is not updated. */
export const ownVersion: Version | null = bundled ? versionAt(dirname(here)) : null

export const FLAGS = ['--disable-warning=ExperimentalWarning'] as const
/** For Node: new objects get little room, as nearly all of them are bytes on their way. */
export const KEEPER_FLAGS = ['--max-semi-space-size=2'] as const

/** The words that start this program again, before its own. */
export const ownCommand: readonly string[] = bundled
  ? [process.execPath, ...FLAGS, here]
  : [process.execPath, ...process.execArgv, process.argv[1]!]

/** The same for a service, that finds whatever version is there then. */
export const lastingCommand: readonly string[] =
  ownVersion === null ? ownCommand : [join(ownVersion.place, 'node'), ...FLAGS, currentFile(ownVersion.place)]

export function currentFile(place: string): string {
  return join(place, 'current', PROGRAM)
}

export const lastingAddon: string | undefined = ownVersion ? join(ownVersion.place, 'current', ADDON) : undefined

/** The file beside the bundle; undefined: the one of the installed package. */
export const ownAddon: string | undefined = bundled ? join(dirname(here), ADDON) : undefined

/** The keeper's program, after `first`; null: the file of the clone. */
export const keeperCommand = (first: readonly string[] = ownCommand, addon = ownAddon): readonly string[] | null =>
  addon === undefined ? null : [first[0]!, ...KEEPER_FLAGS, ...first.slice(1), 'keeper', '--addon', addon]

/** The program of llama.cpp's own process; null: the file of the clone. */
export const engineCommand: readonly string[] | null = bundled ? [...ownCommand, 'engine'] : null
