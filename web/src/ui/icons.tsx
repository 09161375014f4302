/** Drawn with one pen on a 16-unit grid. All are decoration: their buttons carry the words. */
const paths = {
  copy: 'M5.5 5.500V3.300c0-.5.4-.8.8-.8h6.400c.4 0 .8.300.8.800v6.400c0 .4-.4.8-.8.800h-2.200M3.300 5.500h6.400c.4 0 .8.400.8.800v6.400c0 .4-.4.8-.8.800H3.300a.8.800 0 0 1-.8-.8V6.300c0-.4.4-.8.800-.8Z',
  check: 'm3 8.500 3.300 3.500L13 4.500',
  plus: 'M8 3v10M3 8h10',
  up: 'M8 13V3.500M4 7l4-4 4 4',
  down: 'M8 3v9.500M4 9l4 4 4-4',
  more: 'M3.500 8h.01M8 8h.01M12.500 8h.01',
  close: 'm4 4 8 8m0-8-8 8',
  stop: 'M4.500 4.500h7v7h-7Z',
  chat: 'M3.300 3h9.400c.5 0 .8.400.8.800v6.400c0 .4-.4.8-.8.800H7l-3 2.500V11h-.7a.8.800 0 0 1-.8-.8V3.800c0-.4.4-.8.800-.8Z',
  menu: 'M2.500 5h11M2.500 8h11M2.500 11h11',
  sun: 'M8 5.200a2.800 2.800 0 1 0 0 5.600 2.800 2.800 0 0 0 0-5.600ZM8 1.500v1.200M8 13.300v1.200M1.500 8h1.200M13.300 8h1.200M3.400 3.400l.9.900M11.700 11.700l.9.900M3.400 12.600l.9-.9M11.700 4.300l.9-.9',
  moon: 'M13.200 9.800A5.600 5.600 0 0 1 6.200 2.800a5.600 5.600 0 1 0 7 7Z',
  half: 'M8 2.500a5.500 5.500 0 1 0 0 11ZM8 2.500a5.500 5.500 0 0 1 0 11',
  out: 'M6.500 2.500h-3c-.6 0-1 .4-1 1v9c0 .6.4 1 1 1h3M10 11l3-3-3-3M13 8H6',
  shield: 'M8 2 3 3.800v3.700c0 3 2.100 5.300 5 6.500 2.900-1.200 5-3.500 5-6.500V3.800Z',
  key: 'M5 5.400a2.600 2.600 0 1 0 0 5.200 2.600 2.600 0 0 0 0-5.200ZM7.600 8h6v2.400M11 8v2',
  route:
    'M2.500 3.500h2c4 0 3 9 7 9h2M2.500 12.500h2c1.200 0 2-.8 2.600-2M9.200 5.500c.5-1.200 1.200-2 2.300-2h2M11.700 1.700l1.800 1.800-1.800 1.800M11.700 10.700l1.800 1.800-1.800 1.800',
  person:
    'M8 8.200a2.700 2.700 0 1 0 0-5.400 2.700 2.700 0 0 0 0 5.400ZM2.800 13.500c.5-2.300 2.600-3.600 5.200-3.600s4.700 1.300 5.200 3.600',
  people:
    'M6 8.200a2.400 2.400 0 1 0 0-4.800 2.400 2.400 0 0 0 0 4.800ZM1.500 13c.4-2.100 2.200-3.300 4.500-3.300s4.100 1.200 4.500 3.300M10.600 3.600a2.300 2.300 0 0 1 0 4.400M12 9.900c1.400.4 2.300 1.500 2.500 3.100',
  book: 'M8 4.200c-1.500-1-3.300-1.300-5.500-1.200v9.300c2.200-.1 4 .2 5.500 1.200 1.500-1 3.300-1.300 5.500-1.200V3c-2.200-.1-4 .2-5.500 1.200Zm0 0v9.300',
  mail: 'M2.500 4h11v8.500h-11ZM2.500 4.500 8 9l5.500-4.500',
  bell: 'M8 2.200a3.800 3.800 0 0 0-3.800 3.800c0 3.600-1.200 4.600-1.700 5.300h11c-.5-.7-1.700-1.700-1.700-5.300A3.800 3.800 0 0 0 8 2.200ZM6.600 13.500h2.800',
  chevron: 'm4.500 6.500 3.500 3.500 3.500-3.500',
  microphone:
    'M8 2.200a1.800 1.800 0 0 0-1.800 1.800v3.500a1.800 1.800 0 0 0 3.600 0V4A1.800 1.800 0 0 0 8 2.200ZM3.700 7.500a4.300 4.300 0 0 0 8.600 0M8 11.800v2',
  expand: 'M9.500 2.500h4v4M6.500 13.500h-4v-4M13.500 2.500 9 7M2.500 13.500 7 9',
  alert: 'M8 5v3.500M8 11h.01M8 1.800 14.500 13.200H1.500Z',
} as const

export type IconName = keyof typeof paths

export function Icon({ name, className = 'size-4' }: { name: IconName; className?: string }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true" focusable="false" className={`shrink-0 ${className}`}>
      <path
        d={paths[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth={name === 'more' ? 2 : 1.25}
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  )
}

/** The seal: a sun over two waves, cut into vermilion. */
export function Seal({ className = 'size-8' }: { className?: string }) {
  return (
    <svg viewBox="0 0 32 32" aria-hidden="true" focusable="false" className={`shrink-0 ${className}`}>
      <rect x="1.5" y="1.5" width="29" height="29" rx="3.5" className="fill-[#b5371f]" />
      <circle cx="16" cy="10" r="3.4" className="fill-[#fdf8ee]" />
      <path
        d="M6 19.300c3.300-4.200 6.700-4.200 10 0s6.700 4.200 10 0M6 24.500c3.300-4.200 6.700-4.200 10 0s6.700 4.200 10 0"
        className="fill-none stroke-[#fdf8ee]"
        strokeWidth="2.1"
        strokeLinecap="round"
      />
    </svg>
  )
}
