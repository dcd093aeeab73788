from gradrank.bench.cli import main

main()
