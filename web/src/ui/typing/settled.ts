import { useEffect, useState } from 'react'

/** Debounces a value by `ms`. */
export function useSettled<T>(value: T, ms: number): T {
  const [settled, settle] = useState(value)
  const words = JSON.stringify(value)
  useEffect(() => {
    const timer = setTimeout(() => settle(JSON.parse(words) as T), ms)
    return () => clearTimeout(timer)
  }, [words, ms])
  return settled
}
