import type { Method } from '#core/contract.ts'

/** Matches paths. A static segment beats a parameter; a greedy last parameter matches the rest. */
export interface Router<T> {
  find(path: string): Match<T> | null
}
export interface Match<T> {
  methods: ReadonlyMap<Method, T>
  values: string[]
}

interface Node<T> {
  onError: Map<string, Node<T>>
  parameter: Node<T> | null
  greedy: Map<Method, T> | null
  methods: Map<Method, T>
}

export interface Route<T> {
  method: Method
  path: string
  greedy: boolean
  to: T
}

const node = <T>(): Node<T> => ({ onError: new Map(), parameter: null, greedy: null, methods: new Map() })

export function createRouter<T>(routes: readonly Route<T>[]): Router<T> {
  const root = node<T>()
  for (const { method, path, greedy, to } of routes) {
    let at = root
    const segments = path.slice(1).split('/')
    segments.forEach((segment, i) => {
      if (!segment.startsWith(':')) {
        const next = at.onError.get(segment) ?? node<T>()
        at.onError.set(segment, next)
        at = next
        return
      }
      if (greedy && i === segments.length - 1) (at.greedy ??= new Map()).set(method, to)
      at.parameter ??= node<T>()
      at = at.parameter
    })
    at.methods.set(method, to)
  }
  return { find: (path) => walk(root, path.slice(1).split('/'), 0, []) }
}

function walk<T>(at: Node<T>, segments: readonly string[], i: number, values: string[]): Match<T> | null {
  if (i === segments.length) return at.methods.size > 0 ? { methods: at.methods, values } : null
  const segment = segments[i]!
  const fixedChild = at.onError.get(segment)
  if (fixedChild) {
    const match = walk(fixedChild, segments, i + 1, values)
    if (match) return match
  }
  if (segment === '') return null
  if (at.parameter) {
    const value = decode(segment)
    if (value !== null) {
      const match = walk(at.parameter, segments, i + 1, [...values, value])
      if (match) return match
    }
  }
  if (at.greedy) {
    const value = decode(segments.slice(i).join('/'))
    if (value !== null) return { methods: at.greedy, values: [...values, value] }
  }
  return null
}

function decode(words: string): string | null {
  if (!words.includes('%')) return words
  try {
    return decodeURIComponent(words)
  } catch {
    return null
  }
}
