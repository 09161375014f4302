/** Splits a path into parts, each with its full path. The bytes of `file:` URIs are kept. */
export function trail(path: string): { name: string; path: string }[] {
  const [scheme, rest] = path.startsWith('file://') ? ['file://', path.slice(7)] : ['', path]
  const names = rest.split('/').filter(Boolean)
  return [
    { name: '/', path: '/' },
    ...names.map((name, at) => ({ name: shown(name, scheme), path: `${scheme}/${names.slice(0, at + 1).join('/')}` })),
  ]
}

export function within(folder: string, name: string): string {
  const isUri = folder.startsWith('file://')
  const base = folder.replace(/(?<!^|:\/)\/+$/, '')
  return `${base === '/' ? '' : base}/${isUri ? encodeURIComponent(name) : name}`
}

export const folderOf = (path: string): string => trail(path).at(-2)?.path ?? '/'

function shown(name: string, scheme: string): string {
  if (scheme === '') return name
  try {
    return decodeURIComponent(name)
  } catch {
    return name
  }
}
