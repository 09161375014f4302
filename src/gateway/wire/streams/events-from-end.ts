/** The events of whole frames, last first, each with the data lines joined. Comments and events without data are left out. */
export function* eventsFromEnd(frames: string): Generator<string> {
  let end = frames.length
  while (end > 0) {
    const at = Math.max(frames.lastIndexOf('\n\n', end - 3), frames.lastIndexOf('\n\r\n', end - 4))
    const start = at < 0 ? 0 : at
    const data = frames
      .slice(start, end)
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trim())
    if (data.length > 0) yield data.join('\n')
    end = start
  }
}
