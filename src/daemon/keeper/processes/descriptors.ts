import { openSync } from 'node:fs'

/** Our descriptors that a child would inherit: the masters of terminals, through which it could read and type there. */
const inheritable = new Set<number>()
let nothing: number | undefined

export function hideFromChildren(descriptor: number): void {
  inheritable.add(descriptor)
}
export function forget(descriptor: number): void {
  inheritable.delete(descriptor)
}

/** `/dev/null` for a child's descriptors from 3 on, as many as hide ours. */
export function blanks(): number[] {
  nothing ??= openSync('/dev/null', 'r+')
  let highest = 2
  for (const descriptor of inheritable) if (descriptor > highest) highest = descriptor
  return Array<number>(highest - 2).fill(nothing)
}

export function nullDescriptor(): number {
  return (nothing ??= openSync('/dev/null', 'r+'))
}
