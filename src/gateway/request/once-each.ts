/** Keeps each header name once: the last of repeated ones, such as a rate limit's in its refusal. */
export function onceEach(head: readonly string[]): string[] {
  const values = new Map<string, string>()
  for (let i = 0; i < head.length; i += 2) values.set(head[i]!, head[i + 1]!)
  return [...values].flat()
}
