export const Code = ({ label, children }: { label: string; children: string }) => (
  <pre
    tabIndex={0}
    aria-label={label}
    className="mt-1.5 max-h-96 overflow-auto border border-line bg-sunk px-3 py-2 font-mono text-[0.8125rem] leading-relaxed whitespace-pre-wrap break-words"
  >
    {children}
  </pre>
)
