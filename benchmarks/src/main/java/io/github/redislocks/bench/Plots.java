package io.github.redislocks.bench;

import de.erichseifert.vectorgraphics2d.VectorGraphics2D;
import de.erichseifert.vectorgraphics2d.svg.SVGProcessor;
import de.erichseifert.vectorgraphics2d.util.PageSize;
import java.awt.BasicStroke;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.Paint;
import java.awt.font.FontRenderContext;
import java.awt.geom.Rectangle2D;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.DoubleStream;
import org.jfree.chart.JFreeChart;
import org.jfree.chart.axis.AxisLocation;
import org.jfree.chart.axis.AxisState;
import org.jfree.chart.axis.CategoryAxis;
import org.jfree.chart.axis.LogAxis;
import org.jfree.chart.axis.NumberAxis;
import org.jfree.chart.axis.NumberTick;
import org.jfree.chart.axis.NumberTickUnit;
import org.jfree.chart.axis.TickType;
import org.jfree.chart.axis.ValueAxis;
import org.jfree.chart.axis.ValueTick;
import org.jfree.chart.labels.ItemLabelAnchor;
import org.jfree.chart.labels.ItemLabelPosition;
import org.jfree.chart.labels.StandardCategoryItemLabelGenerator;
import org.jfree.chart.plot.CategoryPlot;
import org.jfree.chart.plot.PlotOrientation;
import org.jfree.chart.plot.XYPlot;
import org.jfree.chart.renderer.category.BarRenderer;
import org.jfree.chart.renderer.category.StandardBarPainter;
import org.jfree.chart.renderer.category.StatisticalBarRenderer;
import org.jfree.chart.renderer.xy.XYLineAndShapeRenderer;
import org.jfree.chart.title.TextTitle;
import org.jfree.chart.ui.HorizontalAlignment;
import org.jfree.chart.ui.RectangleEdge;
import org.jfree.chart.ui.TextAnchor;
import org.jfree.data.category.DefaultCategoryDataset;
import org.jfree.data.statistics.DefaultStatisticalCategoryDataset;
import org.jfree.data.xy.XYSeries;
import org.jfree.data.xy.XYSeriesCollection;

/** Draws results as SVG pictures, for light and for dark pages. */
final class Plots {

    private static final int WIDTH = 760;
    private static final int LINES_HEIGHT = 400;
    private static final int BAR_HEIGHT = 32;
    private static final int AROUND_BARS = 110;

    /** If the greatest value is this many times the least, the axis is logarithmic. */
    private static final double WIDE = 100;

    private static final List<Measure> MEASURES = List.of(
            new Measure("ops/s", "", "locks and unlocks per second; more is better"),
            new Measure("p50 µs", "-p50", "µs, of which half of the calls take less; less is better"),
            new Measure("p99 µs", "-p99", "µs, of which 99 % of the calls take less; less is better"),
            new Measure("drain ms", "", "ms until all have had the lock; less is better"),
            new Measure("heap B/lock", "-heap", "bytes of heap for each held lock; less is better"),
            new Measure("client CPU %", "-cpu", "CPU of the client, % of a core; less is better"));

    private static final Pattern TEXT = Pattern.compile("<text style=\"([^\"]*)\"([^>]*)>([^<]*)</text>");

    private static final Pattern SIZE = Pattern.compile("font-size:([0-9.]+)px");

    /** The works in the picture of the overview. */
    private static final Map<String, String> OVERVIEW =
            Map.of("w1", "no rival, 1 thread", "w3", "8 threads of a JVM, 1 lock", "w4", "4 JVMs, 1 lock");

    private static final List<Legend> OVERVIEW_CONTENDERS =
            List.of(Legend.OURS, Legend.REDISSON, Legend.SPRING_SPIN, Legend.SPRING_PUBSUB);

    /**
     * A column that is drawn.
     *
     * @param suffix the end of the file's name, after the name of the work
     */
    private record Measure(String column, String suffix, String axis) {}

    private Plots() {}

    /** Draws a picture for each measure of a work, with a bar for each contender. */
    static void bars(Path folder, Results.Section section) {
        if (section.work().startsWith("breakdown")) {
            // Not drawn: its times come from other works.
            return;
        }
        for (Measure measure : MEASURES) {
            if (section.rows().values().stream().anyMatch(row -> row.containsKey(measure.column()))) {
                bars(folder, section, measure);
            }
        }
    }

    private static void bars(Path folder, Results.Section section, Measure measure) {
        DefaultStatisticalCategoryDataset data = new DefaultStatisticalCategoryDataset();
        List<Paint> colours = new ArrayList<>();
        section.rows().forEach((name, row) -> {
            Figure figure = row.get(measure.column());
            Legend legend = Legend.of(name);
            // Leave out the lock of the JDK: it is a thousand times as fast, and would make all other bars flat.
            if (figure != null && legend != Legend.JDK) {
                // Keep the lower end above 0: a rate is never negative, and a logarithmic axis has no 0.
                double spread = Math.min((figure.high() - figure.low()) / 2, 0.9 * figure.median());
                data.add(figure.median(), spread, "", legend.label);
                colours.add(legend.colour);
            }
        });
        for (Theme theme : Theme.values()) {
            StatisticalBarRenderer bars = new StatisticalBarRenderer() {
                @Override
                public Paint getItemPaint(int row, int column) {
                    return colours.get(column);
                }
            };
            ValueAxis axis = axis(data, measure, bars);
            CategoryPlot plot = plot(new CategoryPlot(data, new CategoryAxis(), axis, bars), bars);
            JFreeChart chart = new JFreeChart(sentence(section.title()), Theme.TITLE, plot, false);
            boolean ofRounds = section.rows().values().stream()
                    .map(row -> row.get(measure.column()))
                    .anyMatch(figure -> figure != null && figure.times() > 1);
            subtitle(
                    chart,
                    ofRounds ? "The median of the rounds, with the distance of its quartiles" : "All rounds together");
            save(
                    folder,
                    section.work() + measure.suffix(),
                    theme,
                    chart,
                    AROUND_BARS + data.getColumnCount() * BAR_HEIGHT);
        }
    }

    /** Makes the axis of the bars. It is logarithmic if a bar would make others invisible. */
    private static ValueAxis axis(
            DefaultStatisticalCategoryDataset data, Measure measure, StatisticalBarRenderer bars) {
        double most = data.getRangeUpperBound(true);
        double least = DoubleStream.iterate(0, column -> column < data.getColumnCount(), column -> column + 1)
                .map(column -> data.getMeanValue(0, (int) column).doubleValue())
                .filter(value -> value > 0)
                .min()
                .orElse(most);
        if (most / least < WIDE) {
            return new NumberAxis(measure.axis());
        }
        LogAxis axis = log(measure.axis() + " (logarithmic)", 10);
        double begin = Math.pow(10, Math.floor(Math.log10(least)));
        axis.setRange(begin, most * 2);
        bars.setBase(begin);
        return axis;
    }

    /** Draws the rates of three works and four contenders, if all were measured. */
    static void overview(Path folder, Function<String, Optional<Results.Section>> sections) {
        DefaultCategoryDataset data = new DefaultCategoryDataset();
        for (String work : OVERVIEW.keySet().stream().sorted().toList()) {
            Optional<Results.Section> section = sections.apply(work);
            for (Legend contender : OVERVIEW_CONTENDERS) {
                section.map(Results.Section::rows)
                        .map(rows -> rows.get(contender.contender))
                        .ifPresent(
                                row -> data.addValue(row.get("ops/s").median(), contender.label, OVERVIEW.get(work)));
            }
        }
        if (data.getRowCount() < OVERVIEW_CONTENDERS.size() || data.getColumnCount() < OVERVIEW.size()) {
            return;
        }
        for (Theme theme : Theme.values()) {
            BarRenderer bars = new BarRenderer();
            // Otherwise a theme replaces the colours.
            bars.setAutoPopulateSeriesPaint(false);
            for (int row = 0; row < data.getRowCount(); row++) {
                bars.setSeriesPaint(row, OVERVIEW_CONTENDERS.get(row).colour);
            }
            bars.setDefaultItemLabelGenerator(new StandardCategoryItemLabelGenerator("{2}", format("#,##0")));
            bars.setDefaultItemLabelsVisible(true);
            bars.setDefaultPositiveItemLabelPosition(
                    new ItemLabelPosition(ItemLabelAnchor.OUTSIDE3, TextAnchor.CENTER_LEFT));
            NumberAxis axis = new NumberAxis("locks and unlocks per second; more is better");
            axis.setUpperMargin(0.1);
            CategoryPlot plot = plot(new CategoryPlot(data, new CategoryAxis(), axis, bars), bars);
            JFreeChart chart = new JFreeChart("Locks on one Redis", Theme.TITLE, plot, true);
            save(folder, "overview", theme, chart, LINES_HEIGHT);
        }
    }

    /** Makes the bars horizontal, since the names beside them are long. */
    private static CategoryPlot plot(CategoryPlot plot, BarRenderer bars) {
        plot.setOrientation(PlotOrientation.HORIZONTAL);
        plot.setRangeAxisLocation(AxisLocation.BOTTOM_OR_LEFT);
        plot.getDomainAxis().setMaximumCategoryLabelWidthRatio(0.4f);
        bars.setBarPainter(new StandardBarPainter());
        bars.setShadowVisible(false);
        bars.setItemMargin(0.05);
        return plot;
    }

    /** Draws a line for each contender. */
    static void lines(Path folder, Series series) {
        XYSeriesCollection data = new XYSeriesCollection();
        series.lines().forEach((name, line) -> {
            XYSeries points = new XYSeries(Legend.of(name).label);
            line.forEach(points::add);
            data.addSeries(points);
        });
        int base = data.getDomainUpperBound(false) < 100 ? 2 : 10;
        for (Theme theme : Theme.values()) {
            XYLineAndShapeRenderer lines = new XYLineAndShapeRenderer();
            lines.setAutoPopulateSeriesPaint(false);
            int row = 0;
            for (String name : series.lines().keySet()) {
                lines.setSeriesPaint(row, Legend.of(name).colour);
                lines.setSeriesStroke(row++, new BasicStroke(2));
            }
            XYPlot plot = new XYPlot(data, log(series.across() + " (logarithmic)", base), up(series), lines);
            String up = series.up() + (plot.getRangeAxis() instanceof LogAxis ? " (logarithmic)" : "");
            JFreeChart chart = new JFreeChart(sentence(series.title()), Theme.TITLE, plot, true);
            // Not beside the axis: rotated text would be written as outlines.
            subtitle(chart, "Upwards: " + up);
            save(folder, series.name(), theme, chart, LINES_HEIGHT);
        }
    }

    private static ValueAxis up(Series series) {
        double most = values(series).max().orElse(0);
        double least = values(series).min().orElse(0);
        if (least > 0 && most / least > WIDE) {
            return log("", 10);
        }
        NumberAxis up = new NumberAxis();
        up.setRange(0, most > 0 ? most * 1.1 : 1);
        return up;
    }

    private static LogAxis log(String name, int base) {
        LogAxis axis = new PlainLogAxis(name);
        axis.setBase(base);
        axis.setTickUnit(new NumberTickUnit(1));
        return axis;
    }

    /** A logarithmic axis whose labels are text, not outlines of text. */
    private static final class PlainLogAxis extends LogAxis {

        private static final long serialVersionUID = 1;

        private PlainLogAxis(String label) {
            super(label);
        }

        @Override
        @SuppressWarnings({"rawtypes", "unchecked"}) // JFreeChart declares the method with raw types.
        public List refreshTicks(Graphics2D graphics, AxisState state, Rectangle2D area, RectangleEdge edge) {
            List<ValueTick> ticks = super.refreshTicks(graphics, state, area, edge);
            return ticks.stream().map(PlainLogAxis::plain).toList();
        }

        private static ValueTick plain(ValueTick tick) {
            boolean major = tick.getTickType() == TickType.MAJOR;
            return new NumberTick(
                    tick.getTickType(),
                    tick.getValue(),
                    major ? format("#,##0.###").format(tick.getValue()) : "",
                    tick.getTextAnchor(),
                    tick.getRotationAnchor(),
                    tick.getAngle());
        }
    }

    private static DecimalFormat format(String pattern) {
        return new DecimalFormat(pattern, DecimalFormatSymbols.getInstance(Locale.ROOT));
    }

    private static DoubleStream values(Series series) {
        return series.lines().values().stream()
                .map(Map::values)
                .flatMap(Collection::stream)
                .mapToDouble(Double::doubleValue);
    }

    private static String sentence(String title) {
        return Character.toUpperCase(title.charAt(0)) + title.substring(1);
    }

    private static void subtitle(JFreeChart chart, String text) {
        TextTitle title = new TextTitle(text, Theme.TEXT.deriveFont(Font.PLAIN));
        title.setHorizontalAlignment(HorizontalAlignment.CENTER);
        chart.addSubtitle(0, title);
    }

    private static void save(Path folder, String name, Theme theme, JFreeChart chart, int height) {
        theme.apply(chart);
        VectorGraphics2D graphics = new VectorGraphics2D();
        chart.draw(graphics, new Rectangle2D.Double(0, 0, WIDTH, height));
        try {
            Files.createDirectories(folder);
            ByteArrayOutputStream text = new ByteArrayOutputStream();
            new SVGProcessor()
                    .getDocument(graphics.getCommands(), new PageSize(0, 0, WIDTH, height))
                    .writeTo(text);
            String svg = fitted(text.toString(StandardCharsets.UTF_8));
            Files.writeString(folder.resolve(name + theme.suffix + ".svg"), svg);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Gives each text the width that it has on this machine, since the reader's font may differ. */
    private static String fitted(String svg) {
        FontRenderContext context = new FontRenderContext(null, true, true);
        return TEXT.matcher(svg).replaceAll(text -> {
            String style = text.group(1);
            Matcher size = SIZE.matcher(style);
            Font font = Theme.TEXT.deriveFont(
                    style.contains("font-weight:bold") ? Font.BOLD : Font.PLAIN,
                    size.find() ? Float.parseFloat(size.group(1)) : Theme.TEXT.getSize2D());
            String words =
                    text.group(3).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
            String fitted = String.format(
                    Locale.ROOT,
                    "<text style=\"%sfont-size:%.0fpx;\" textLength=\"%.1f\" lengthAdjust=\"spacingAndGlyphs\"%s>%s</text>",
                    style.replaceAll("font-family:&quot;[^&]*&quot;", "font-family:sans-serif"),
                    font.getSize2D(),
                    font.getStringBounds(words, context).getWidth(),
                    text.group(2),
                    text.group(3));
            return Matcher.quoteReplacement(fitted);
        });
    }
}
