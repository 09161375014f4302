import { useEffect, useState } from 'react'

/** A value once it has stayed the same for `ms`: what is still being typed is not asked for letter by letter. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, settle] = useState(value)
  const words = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => settle(JSON.parse(words) as T), ms)
    return () => clearTimeout(timer)
  }, [words, ms])
  return settled
}
