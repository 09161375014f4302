/** An installed service. `folder` is null if its files don't say which daemon it belongs to. */
export interface Installed {
  name: string
  folder: string | null
}

/**
 * Returns the service name of the daemon at `folder`: its existing one, or an unused one based on its computer's
 * name. Services from before daemons had names are `''`.
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
  const base = first === '' ? 'machine' : first
  const names = new Set(installed.map(({ name }) => name))
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`
    if (!names.has(name)) return name
  }
}

const LONGEST = 40
