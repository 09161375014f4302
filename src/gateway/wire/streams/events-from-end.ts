/** The events of whole frames, last first, each with the data lines joined. Comments and events without data are left out. */
export function* eventsFromEnd(given: string): Generator<string> {
  const frames = given.includes('\r') ? given.replaceAll(/\r\n?/g, '\n') : given
  let end = frames.length
  while (end > 0) {
    const at = frames.lastIndexOf('\n\n', end - 3)
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
