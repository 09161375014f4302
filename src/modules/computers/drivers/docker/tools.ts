/** Host programs with libraries and loader, because images may lack them or use another C library. */
import { createHash } from 'node:crypto'
import { chmod, copyFile, mkdir, mkdtemp, realpath, rename, rm, stat, symlink } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { DriverFault } from '../driver.ts'
import { run } from '../run.ts'

const TOOLS = { sh: 'dash', tar: 'tar', find: 'find', ip: 'iproute2', setpriv: 'util-linux', unshare: 'util-linux' }
const LIBRARIES = 'lib'
const LOADER = 'loader'

export const toolOf = (tools: string, name: string, place = tools): string =>
  `${tools}/${LIBRARIES}/${LOADER} --library-path ${tools}/${LIBRARIES} ${place}/${name}`

/** Returns a folder named by the tools' hash. `others`: programs whose libraries are needed too. */
export async function placeTools(place: string, others: readonly string[]): Promise<string> {
  const programs = new Map<string, string>()
  for (const [name, from] of Object.entries(TOOLS)) {
    const { code, stdout } = await run(['sh', '-c', 'command -v "$1"', 'sh', name])
    if (code !== 0) throw new DriverFault(`The program \`${name}\` is missing. Install ${from}.`)
    programs.set(name, await realpath(stdout.trim()))
  }
  const libraries = new Set<string>()
  let loader: string | undefined
  for (const file of [...programs.values(), ...others]) {
    const { code, stdout } = await run(['ldd', file])
    if (code !== 0) continue
    for (const [, path = ''] of stdout.matchAll(/=> (\/\S+)/g)) libraries.add(path)
    loader ??= /^\s*(\/\S*\/ld-\S+)/m.exec(stdout)?.[1]
  }
  if (loader === undefined) throw new DriverFault(`\`ldd ${others[0]}\` reports no loader. Is it statically linked?`)
  const target = join(place, await stampOf([...programs.values(), ...libraries, loader]))
  if (await isThere(target)) return target
  await mkdir(place, { recursive: true, mode: 0o755 })
  const making = await mkdtemp(join(place, 'making-'))
  try {
    await mkdir(join(making, LIBRARIES), { mode: 0o755 })
    for (const [name, file] of programs) await put(file, join(making, name))
    for (const file of libraries) await put(file, join(making, LIBRARIES, basename(file)))
    await put(loader, join(making, LIBRARIES, basename(loader)))
    await symlink(basename(loader), join(making, LIBRARIES, LOADER))
    await chmod(join(making, LIBRARIES), 0o755)
    await chmod(making, 0o755)
    await rename(making, target).catch(async (error: unknown) => {
      // Another server process finished first.
      if (!(await isThere(target))) throw error
    })
    return target
  } finally {
    await rm(making, { recursive: true, force: true })
  }
}

async function put(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  await chmod(to, 0o555)
}

/** Uses size and mtime, which host updates change. */
async function stampOf(files: readonly string[]): Promise<string> {
  const hash = createHash('sha256')
  for (const file of files) {
    const { size, mtimeMs } = await stat(file)
    hash.update(`${file} ${size} ${mtimeMs}\n`)
  }
  return hash.digest('hex').slice(0, 24)
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  )
