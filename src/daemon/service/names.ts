/** The services of one user's daemons: each daemon, known by the folder of its state, has names of its own. Pure. */

/** A service that is installed, as its files say. `folder` null: they do not say whose it is. */
export interface Installed {
  name: string
  folder: string | null
}

/**
 * The name of the service of the daemon at `folder`: the one that it has, else one after its computer that nobody has. Services
 * from before they had names of their own are `''`.
 */
export function nameFor(folder: string, computer: string, installed: readonly Installed[]): string {
  const own = installed.find((one) => one.folder === folder)
  if (own) return own.name
  const first = computer
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, LONGEST)
    .replaceAll(/^-+|-+$/g, '')
  const wanted = first === '' ? 'machine' : first
  const taken = new Set(installed.map(({ name }) => name))
  for (let n = 1; ; n++) {
    const name = n === 1 ? wanted : `${wanted}-${n}`
    if (!taken.has(name)) return name
  }
}

const LONGEST = 40
