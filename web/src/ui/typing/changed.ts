import { useState } from 'react'

/**
 * A field that starts with what the server has. A changed field keeps its value when the server's value changes;
 * an unchanged one follows it. `adopt` makes it follow again, once the change is saved.
 */
export function useChanged<T>(current: T): [value: T, set: (value: T) => void, adopt: () => void] {
  const [chosen, choose] = useState<{ value: T } | null>(null)
  return [chosen === null ? current : chosen.value, (value) => choose({ value }), () => choose(null)]
}
