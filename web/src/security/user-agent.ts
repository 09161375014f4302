import { shorten } from '../../../src/core/text/shorten.ts'

/** The browser and system of a `User-Agent`. Browsers name each other; the most specific match comes first. */
export function sayAgent(words: string | null): string {
  if (!words) return 'Unknown program'
  const browser = (
    [
      [/Edg(?:A|iOS)?\//, 'Edge'],
      [/OPR\//, 'Opera'],
      [/Firefox\/|FxiOS\//, 'Firefox'],
      [/HeadlessChrome\//, 'Chromium (headless)'],
      [/Chrome\/|CriOS\//, 'Chrome'],
      [/Safari\//, 'Safari'],
      [/^uk\//, 'uk'],
    ] as const
  ).find(([mark]) => mark.test(words))?.[1]
  const system = (
    [
      [/iPhone|iPad/, 'iOS'],
      [/Android/, 'Android'],
      [/Windows/, 'Windows'],
      [/Mac OS X|Macintosh/, 'macOS'],
      [/Linux|X11/, 'Linux'],
    ] as const
  ).find(([mark]) => mark.test(words))?.[1]
  if (!browser) return shorten(words.split(/[ /]/)[0]!, 40)
  return system ? `${browser} on ${system}` : browser
}
