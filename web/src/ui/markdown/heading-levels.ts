interface Headed {
  type: string
  /** The number of `#`. */
  depth?: number
}

/**
 * The heading level of each block. The first heading gets `first`, and none is more than one level below the heading before
 * it, even if the text skips some: screen readers present headings as an outline.
 */
export function headingLevels(blocks: readonly Headed[], first: number): number[] {
  const above: number[] = []
  return blocks.map(({ type, depth = 1 }) => {
    const isHeading = type === 'heading'
    if (isHeading) while (above.length > 0 && above.at(-1)! >= depth) above.pop()
    const level = Math.min(6, first + above.length)
    if (isHeading) above.push(depth)
    return level
  })
}
