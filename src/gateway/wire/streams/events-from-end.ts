/** Complete frames only, last first, with joined data lines. Comments and events without data are left out. */
export function* eventsFromEnd(text: string): Generator<string> {
  const frames = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text
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
