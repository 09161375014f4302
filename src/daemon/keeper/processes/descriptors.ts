import { openSync } from 'node:fs'

/** Descriptors a child would inherit: terminal masters, through which it could read and type. */
const inheritable = new Set<number>()
let nothing: number | undefined

export function hideFromChildren(descriptor: number): void {
  inheritable.add(descriptor)
}
export function forget(descriptor: number): void {
  inheritable.delete(descriptor)
}

/** Returns `/dev/null` for a child's descriptors from 3 on, to cover the inheritable ones. */
export function blanks(): number[] {
  nothing ??= openSync('/dev/null', 'r+')
  let highest = 2
  for (const descriptor of inheritable) if (descriptor > highest) highest = descriptor
  return Array<number>(highest - 2).fill(nothing)
}

export function nullDescriptor(): number {
  return (nothing ??= openSync('/dev/null', 'r+'))
}
