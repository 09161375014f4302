export interface Box {
  left: number
  top: number
  right: number
  bottom: number
}

export interface Layout {
  count: number
  columns: number
  pitch: number
  /** The height of a row or tile, without the gap. */
  height: number
  gap: number
}

export function covered(
  { left, top, right, bottom }: Box,
  width: number,
  { count, columns, pitch, height, gap }: Layout,
): number[] {
  const cell = (width - gap * (columns - 1)) / columns
  const across = Array.from({ length: columns }, (_, column) => column).filter((column) => {
    const start = column * (cell + gap)
    return start <= right && start + cell >= left
  })
  const first = Math.max(0, Math.ceil((top - height) / pitch))
  const last = Math.min(Math.ceil(count / columns) - 1, Math.floor(bottom / pitch))
  const indices: number[] = []
  for (let row = first; row <= last; row++)
    for (const column of across) if (row * columns + column < count) indices.push(row * columns + column)
  return indices
}
