import type { TranscriptSpan } from '../adapter.ts'

/** SubRip or WebVTT (W3C, 2019), with the speaker before the text. */
export function subtitlesOf(segments: readonly TranscriptSpan[], format: 'srt' | 'vtt'): string {
  const comma = format === 'srt' ? ',' : '.'
  const cues = segments.map(({ startSeconds, endSeconds, text, speaker }, i) => {
    const line = text.replaceAll(/\s*[\r\n]+\s*/g, ' ').trim()
    const times = `${timeOf(startSeconds, comma)} --> ${timeOf(Math.max(startSeconds, endSeconds), comma)}`
    if (format === 'srt')
      return `${i + 1}\n${times}\n${speaker === null ? '' : `${speaker}: `}${line.replaceAll('-->', '->')}\n`
    return `${times}\n${speaker === null ? '' : `<v ${escapeText(speaker).replaceAll(/[\r\n]/g, ' ')}>`}${escapeText(line)}\n`
  })
  return (format === 'vtt' ? ['WEBVTT\n', ...cues] : cues).join('\n')
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

function timeOf(seconds: number, comma: string): string {
  const all = Math.max(0, Math.round(seconds * 1000))
  const two = (count: number): string => String(count).padStart(2, '0')
  const hours = Math.floor(all / 3_600_000)
  const minutes = Math.floor(all / 60_000) % 60
  return `${two(hours)}:${two(minutes)}:${two(Math.floor(all / 1000) % 60)}${comma}${String(all % 1000).padStart(3, '0')}`
}
