/** The daemon as it is brought into sandboxes: one bundled file, Node, and the addon that opens terminals. */
import { chmod, copyFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { bundle, isFolder, stampOf } from '../../install/bundle.ts'

/** The files of it in their folder. */
export const PROGRAM = { node: 'node', daemon: 'daemon.mjs', addon: 'pty.node' } as const

const SOURCES = join(import.meta.dirname, '../../../..')
const MAIN = join(SOURCES, 'daemon/sandboxed.ts')
/** All that the bundle is made of, beside dependencies. */
const ROOMS = ['daemon', 'wire', 'kernel', '../package.json']

/** Puts the program into `place`, in a folder that is named after what it is made of. Answers that folder. */
export async function placeProgram(place: string): Promise<string> {
  const addon = createRequire(import.meta.url).resolve(`@lydell/node-pty-${process.platform}-${process.arch}/pty.node`)
  const target = join(place, await stampOf([...ROOMS.map((room) => join(SOURCES, room)), addon]))
  if (await isFolder(target)) return target
  await mkdir(place, { recursive: true, mode: 0o755 })
  await chmod(place, 0o755)
  const making = await mkdtemp(join(place, 'making-'))
  try {
    await bundle(MAIN, join(making, PROGRAM.daemon))
    await copyFile(addon, join(making, PROGRAM.addon))
    await copyFile(process.execPath, join(making, PROGRAM.node))
    for (const name of Object.values(PROGRAM)) await chmod(join(making, name), 0o555)
    await chmod(making, 0o755)
    await rename(making, target).catch(async (error: unknown) => {
      // Another process of the server was faster.
      if (!(await isFolder(target))) throw error
    })
    return target
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}
