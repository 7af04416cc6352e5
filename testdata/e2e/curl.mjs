// A stand-in for curl on machines that have none, for the README's commands:
// curl [-sSfg] [-X METHOD] [-d DATA] [-H HEADER] URL

const args = process.argv.slice(2)
const init = { method: 'GET', headers: {} }
let url
while (args.length) {
  const arg = args.shift()
  if (arg === '-X') init.method = args.shift()
  else if (arg === '-d') init.body = args.shift()
  else if (arg === '-H') {
    const [name, value] = args.shift().split(/: (.*)/)
    init.headers[name] = value
  } else if (!arg.startsWith('-')) url = arg
}
const response = await fetch(url, init)
process.stdout.write(await response.text())
if (!response.ok) process.exit(22)
